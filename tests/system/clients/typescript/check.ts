// A program with types that openapi-typescript generated from /api/schema, against a running ragsite. `tsc --strict`
// compiles it; the exit status is 1 if a check fails. Reads ADDRESS and KEY from the environment.
import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

type Schemas = components['schemas']

const QUESTION = 'Do zebras have stripes?'
const client = createClient<paths>({
  baseUrl: process.env.ADDRESS ?? '',
  headers: { Authorization: `Bearer ${process.env.KEY}` },
})

// What must not compile.
// @ts-expect-error A document without a text or a file.
export const empty: Schemas['PipelineDocumentRequest'] = { path: 'a.md' }
// @ts-expect-error A time is no list.
export const times: Schemas['PipelineFilterRequest'] = { field: 'dateFrom', value: ['2026-01-31T12:00:00Z'] }
// @ts-expect-error The question is missing.
export const nothing: Schemas['PipelineQueryRequest'] = {}

export const documents: Schemas['PipelineDocumentRequest'][] = [
  { path: 'bikes.md', text: 'Bikes are parked in the yard.' },
  { path: 'tea.txt', contentBase64: 'VGVh', contentType: 'text/plain' },
]

async function* events(stream: ReadableStream<Uint8Array>): AsyncGenerator<Schemas['PipelineQueryEvent']> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of stream) {
    const blocks = (text + decoder.decode(part, { stream: true })).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const [event, data] = block.split('\n')
      if (!event?.startsWith('event: ') || !data) continue // a comment
      yield { event: event.slice(7), data: JSON.parse(data.slice(6)) } as Schemas['PipelineQueryEvent']
    }
  }
}

const checks: Record<string, () => Promise<void>> = {
  'retrieve, with only the required fields and with a filter': async () => {
    const { data, error } = await client.POST('/api/rag/retrieve', { body: { query: QUESTION } })
    assert.equal(error, undefined)
    assert.deepEqual(data?.documents.map((passage) => passage.title), ['Zebras'])
    const filters: Schemas['PipelineFilterRequest'][] = [{ field: 'lang', value: 'xx' }]
    const filtered = await client.POST('/api/rag/retrieve', { body: { query: QUESTION, filters } })
    assert.equal(filtered.error?.error, 'NO_RESULTS')
  },

  'query as JSON': async () => {
    const { data } = await client.POST('/api/rag/query', { body: { query: QUESTION } })
    assert.ok(typeof data === 'object')
    assert.match(data.answer, /stripes/)
  },

  'query as a stream': async () => {
    const body = { query: QUESTION, stream: true }
    const { data } = await client.POST('/api/rag/query', { body, parseAs: 'stream' })
    assert.ok(data)
    let text = ''
    for await (const item of events(data as ReadableStream<Uint8Array>)) {
      if (item.event === 'token') text += item.data.text
      if (item.event === 'error') assert.fail(item.data.message)
      if (item.event === 'done') assert.equal(text.trim(), item.data.answer)
    }
    assert.match(text, /stripes/)
  },

  'a refused request': async () => {
    const { error, response } = await client.POST('/api/rag/ingest', { body: { dataSourceId: 'library', documents } })
    assert.equal(response.status, 403)
    assert.ok(error && 'error' in error)
  },
}

let failed = false
for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log(`ok    ${name}`)
  } catch (error) {
    failed = true
    console.log(`FAIL  ${name}: ${error}`)
  }
}
process.exitCode = failed ? 1 : 0
