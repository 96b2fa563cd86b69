// supabase-js as a customer's app would use it, against a running ragsite. One line for each promise; ends with 1 if
// one is not kept. From the environment: ADDRESS, KEY (of a member), LIMITED_KEY (one query a minute), TOKEN.
import assert from 'node:assert/strict'
import { createClient, FunctionRegion, FunctionsHttpError } from '@supabase/supabase-js'

const { ADDRESS, KEY, LIMITED_KEY, TOKEN } = process.env
const QUESTION = 'Do zebras have stripes?'
// Beside these, a browser asks in a preflight for every header that a page sends.
const SAFELISTED = new Set(['accept', 'accept-language', 'content-language'])
const sent = new Set()

class WebSocket {}

function client(key, options = {}) {
  const noting = (input, init) => {
    for (const name of new Headers(init.headers).keys()) sent.add(name)
    return fetch(input, init)
  }
  const auth = options.accessToken ? {} : { auth: { persistSession: false, autoRefreshToken: false } }
  const realtime = { transport: WebSocket } // Node 20 has none of its own, and the client insists on one
  return createClient(ADDRESS, key, { ...auth, ...options, realtime, global: { ...options.global, fetch: noting } })
}

async function found(supabase, options = {}) {
  const { data, error } = await supabase.functions.invoke('rag-search', { body: { query_text: QUESTION }, ...options })
  assert.equal(error, null)
  assert.equal(data.status, 'success')
  assert.deepEqual(data.results.map((each) => each.source_title), ['Zebras'])
}

async function refused(supabase, body, status) {
  const { data, error } = await supabase.functions.invoke('rag-search', { body })
  assert.equal(data, null)
  assert.ok(error instanceof FunctionsHttpError)
  assert.equal(error.context.status, status)
  const envelope = await error.context.json()
  assert.equal(envelope.status, 'error')
  assert.deepEqual(Object.keys(envelope).sort(), ['details', 'error', 'message', 'status'])

}

const promises = {
  'rag-search, the API key as apikey': () => found(client(KEY)),

  'rag-answer, the API key as apikey': async () => {
    const { data, error } = await client(KEY).functions.invoke('rag-answer', { body: { query_text: QUESTION } })
    assert.equal(error, null)
    assert.equal(data.status, 'success')
    assert.match(data.answer.text, /stripes/)
    assert.equal(data.citations[0].source_title, 'Zebras')
  },

  'rag-answer as a stream': async () => {
    const body = { query_text: QUESTION, stream: true }
    const { data, error } = await client(KEY).functions.invoke('rag-answer', { body })
    assert.equal(error, null)
    const names = [...(await data.text()).matchAll(/^event: (\w+)$/gm)].map((each) => each[1])
    assert.equal(names[0], 'sources')
    assert.equal(names.at(-1), 'done')
  },

  'a user’s token by accessToken, another apikey': () => found(client('anon', { accessToken: async () => TOKEN })),

  'a user’s token in Authorization, another apikey': () =>
    found(client('anon', { global: { headers: { Authorization: `Bearer ${TOKEN}` } } })),

  'a user’s token by functions.setAuth, another apikey': () => {
    const supabase = client('anon')
    const functions = supabase.functions // a new one at each look
    functions.setAuth(TOKEN)
    return found({ functions })
  },

  'a region changes nothing': () => found(client(KEY), { region: FunctionRegion.EuCentral1 }),

  '400 is a FunctionsHttpError with our envelope': () => refused(client(KEY), { query_text: '' }, 400),

  '401 is a FunctionsHttpError with our envelope': () => refused(client('anon'), { query_text: QUESTION }, 401),

  '429 is a FunctionsHttpError with our envelope and Retry-After': async () => {
    // Three in a row are in at most two windows, of one request each.
    const supabase = client(LIMITED_KEY)
    const body = { query_text: QUESTION }
    const replies = []
    for (let turn = 0; turn < 3; turn++) replies.push(await supabase.functions.invoke('rag-search', { body }))
    const errors = replies.map((each) => each.error).filter(Boolean)
    assert.ok(errors.length >= 1)
    assert.ok(errors[0] instanceof FunctionsHttpError)
    assert.equal(errors[0].context.status, 429)
    assert.ok(Number(errors[0].context.headers.get('retry-after')) >= 1)
    assert.equal((await errors[0].context.json()).status, 'error')
  },

  'a browser’s preflight allows every header that was sent': async () => {
    const asked = [...sent, 'traceparent', 'tracestate', 'baggage'].filter((name) => !SAFELISTED.has(name))
    for (const name of ['authorization', 'x-client-info', 'apikey', 'content-type', 'x-region'])
      assert.ok(asked.includes(name), `${name} was sent`)
    for (const path of ['rag-search', 'rag-answer']) {
      const reply = await fetch(`${ADDRESS}/functions/v1/${path}`, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://app.example',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': asked.sort().join(','),
        },
      })
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('access-control-allow-origin'), '*')
      assert.ok(reply.headers.get('access-control-allow-methods').includes('POST'))
      const allowed = reply.headers.get('access-control-allow-headers').split(/, */)
      assert.deepEqual(asked.filter((name) => !allowed.includes(name)), [])
    }
  },
}

let failures = 0
for (const [name, promise] of Object.entries(promises)) {
  try {
    await promise()
    console.log(`ok    ${name}`)
  } catch (error) {
    failures += 1
    console.log(`WRONG ${name}\n${error.stack}`)
  }
}
console.log(`The client sent the headers ${[...sent].sort().join(', ')}`)
process.exit(failures ? 1 : 0)
