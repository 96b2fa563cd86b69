// Runs the Code node of docs/user/n8n-webhook.json on a signed event, as n8n does: its text is the body of an async
// function with $input and require. Reads the workflow's path and a message {secret, headers, body} from the arguments.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [path, text] = process.argv.slice(2)
const { secret, headers, body } = JSON.parse(text)
const workflow = JSON.parse(readFileSync(path, 'utf8'))
const { jsCode } = workflow.nodes.find((node) => node.type === 'n8n-nodes-base.code').parameters
const code = jsCode.replace("'whsec_…'", JSON.stringify(secret))
assert.notEqual(code, jsCode, 'the place of the secret')
const AsyncFunction = (async () => {}).constructor

function run(sent, received = headers) {
  const helpers = { getBinaryDataBuffer: async () => Buffer.from(sent) }
  const input = { first: () => ({ json: { headers: received } }) }
  return new AsyncFunction('$input', 'require', code).call({ helpers }, input, createRequire(import.meta.url))
}

const [item] = await run(body)
assert.deepEqual(item.json, { id: headers['webhook-id'], ...JSON.parse(body) })
const two = { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` }
assert.equal((await run(body, two)).length, 1, 'signatures with two secrets')
await assert.rejects(run(body.replace('job', 'jot')), /signature is wrong/)
await assert.rejects(run(body, { ...headers, 'webhook-signature': undefined }), /signature is wrong/)
await assert.rejects(run(body, { ...headers, 'webhook-timestamp': '1' }), /too old/)
await assert.rejects(run(body, { ...headers, 'webhook-timestamp': undefined }), /too old/)
console.log('ok    the check of signatures in the workflow of n8n')
