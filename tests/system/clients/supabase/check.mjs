// Uses supabase-js as a customer's app would, against a running ragsite. Prints one line for each check; the exit status
// is 1 if one fails. Reads ADDRESS, KEY (a member's), LIMITED_KEY (one query a minute) and TOKEN from the environment.
import assert from 'node:assert/strict'
import { createClient, FunctionRegion, FunctionsHttpError } from '@supabase/supabase-js'

const { ADDRESS, KEY, LIMITED_KEY, TOKEN } = process.env
const QUESTION = 'Do zebras have stripes?'
// A browser's preflight request lists every header of the page's request except these.
const SAFELISTED = new Set(['accept', 'accept-language', 'content-language'])
const sentHeaders = new Set()

class WebSocket {}

function client(key, options = {}) {
  const recordingFetch = (input, init) => {
    for (const name of new Headers(init.headers).keys()) sentHeaders.add(name)
    return fetch(input, init)
  }
  const auth = options.accessToken ? {} : { auth: { persistSession: false, autoRefreshToken: false } }
  const realtime = { transport: WebSocket } // Node 20 has no WebSocket, and the client requires one
  return createClient(ADDRESS, key, { ...auth, ...options, realtime, global: { ...options.global, fetch: recordingFetch } })
}

async function assertFound(supabase, options = {}) {
  const { data, error } = await supabase.functions.invoke('rag-search', { body: { query_text: QUESTION }, ...options })
  assert.equal(error, null)
  assert.equal(data.status, 'success')
  assert.deepEqual(data.results.map((result) => result.source_title), ['Zebras'])
}

async function assertRefused(supabase, body, status) {
  const { data, error } = await supabase.functions.invoke('rag-search', { body })
  assert.equal(data, null)
  assert.ok(error instanceof FunctionsHttpError)
  assert.equal(error.context.status, status)
  const content = await error.context.json()
  assert.equal(content.status, 'error')
  assert.deepEqual(Object.keys(content).sort(), ['details', 'error', 'message', 'status'])
}

const checks = {
  'rag-search, the API key as apikey': () => assertFound(client(KEY)),

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
    const names = [...(await data.text()).matchAll(/^event: (\w+)$/gm)].map((match) => match[1])
    assert.equal(names[0], 'sources')
    assert.equal(names.at(-1), 'done')
  },

  'a user’s token by accessToken, another apikey': () => assertFound(client('anon', { accessToken: async () => TOKEN })),

  'a user’s token in Authorization, another apikey': () =>
    assertFound(client('anon', { global: { headers: { Authorization: `Bearer ${TOKEN}` } } })),

  'a user’s token by functions.setAuth, another apikey': () => {
    const supabase = client('anon')
    const functions = supabase.functions // a new object at each access
    functions.setAuth(TOKEN)
    return assertFound({ functions })
  },

  'a region changes nothing': () => assertFound(client(KEY), { region: FunctionRegion.EuCentral1 }),

  '400 is a FunctionsHttpError in the contract’s format': () => assertRefused(client(KEY), { query_text: '' }, 400),

  '401 is a FunctionsHttpError in the contract’s format': () => assertRefused(client('anon'), { query_text: QUESTION }, 401),

  '429 is a FunctionsHttpError in the contract’s format and Retry-After': async () => {
    // Three requests in a row fall into at most two windows, each of which allows one.
    const supabase = client(LIMITED_KEY)
    const body = { query_text: QUESTION }
    const replies = []
    for (let number = 0; number < 3; number++) replies.push(await supabase.functions.invoke('rag-search', { body }))
    const errors = replies.map((reply) => reply.error).filter(Boolean)
    assert.ok(errors.length >= 1)
    assert.ok(errors[0] instanceof FunctionsHttpError)
    assert.equal(errors[0].context.status, 429)
    assert.ok(Number(errors[0].context.headers.get('retry-after')) >= 1)
    assert.equal((await errors[0].context.json()).status, 'error')
  },

  'a browser’s preflight allows every header that was sent': async () => {
    const requested = [...sentHeaders, 'traceparent', 'tracestate', 'baggage'].filter((name) => !SAFELISTED.has(name))
    for (const name of ['authorization', 'x-client-info', 'apikey', 'content-type', 'x-region'])
      assert.ok(requested.includes(name), `${name} was sent`)
    for (const path of ['rag-search', 'rag-answer']) {
      const reply = await fetch(`${ADDRESS}/functions/v1/${path}`, {
        method: 'OPTIONS',
        headers: {
          Origin: 'https://app.example',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': requested.sort().join(','),
        },
      })
      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('access-control-allow-origin'), '*')
      assert.ok(reply.headers.get('access-control-allow-methods').includes('POST'))
      const allowed = reply.headers.get('access-control-allow-headers').split(/, */)
      assert.deepEqual(requested.filter((name) => !allowed.includes(name)), [])
    }
  },
}

let failures = 0
for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log(`ok    ${name}`)
  } catch (error) {
    failures += 1
    console.log(`WRONG ${name}\n${error.stack}`)
  }
}
console.log(`The client sent the headers ${[...sentHeaders].sort().join(', ')}`)
process.exit(failures ? 1 : 0)
