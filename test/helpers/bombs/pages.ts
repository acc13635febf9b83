import { gzipSync } from 'node:zlib';

/** A page that is made to cost its reader as much as it can. */
export interface PageBomb {
  /** The engine of the pipeline, `vector` where omitted: its pages are Prometheus text. */
  readonly engine?: string;
  readonly what: string;
  readonly body: () => Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the state of its pipeline says of it; left out where it can be read. */
  readonly error?: RegExp;
}

const MB = 1024 * 1024;
const OPEN_METRICS = { 'content-type': 'application/openmetrics-text; version=1.0.0' };
const NOT_TEXT = /not Prometheus text: line 1 /;

const repeated = (piece: string, bytes: number): Buffer => Buffer.alloc(bytes, piece);

function pageOf(count: number, line: (index: number) => string): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, at) => line(at)).join(''));
}

const series = (labels: string): string =>
  `vector_component_received_events_total{component_id="app",component_kind="source",component_type="syslog"${labels}}`;
const KNOWN = `${series('')} 1000\n`;

const list = (count: number, item: (at: number) => object): Buffer =>
  Buffer.from(JSON.stringify(Array.from({ length: count }, (_, at) => item(at))));
const within = (head: string, body: Buffer, tail: string): Buffer =>
  Buffer.concat([Buffer.from(head), body, Buffer.from(tail)]);
const NOT_JSON = /^[^ ]+: not /;

/** Around what a page of JSON lists, for each engine whose page is JSON; and an item of it. */
const JSON_PAGES = {
  logstash: {
    head: '{"pipelines":{"main":{"plugins":{"inputs":',
    tail: ',"outputs":[]}}}}',
    item: (at: number) => ({ id: `i${at}`, name: 'beats', events: { out: at } }),
  },
  fluentd: {
    head: '{"plugins":',
    tail: '}',
    item: (at: number) => ({ plugin_id: `p${at}`, plugin_category: 'input', type: 'tail', emit_records: at }),
  },
  filebeat: {
    head: '',
    tail: '',
    item: (at: number) => ({ id: `i${at}`, input: 'log', events_processed_total: at }),
  },
} as const;

const JSON_BOMBS: readonly PageBomb[] = Object.entries(JSON_PAGES).flatMap(([engine, { head, tail, item }]) =>
  [
    { what: '50 MB of blank lines', body: () => repeated('\n', 50 * MB), error: NOT_JSON },
    {
      what: '50 MB of blanks within',
      body: () => within(`${head}[`, repeated(' ', 50 * MB), `]${tail}`),
      error: /none that engine|no pipelines|not /,
    },
    { what: '20,000 entries', body: () => within(head, list(20_000, item), tail) },
    {
      what: '150,000 entries',
      body: () => within(head, list(150_000, item), tail),
      ...(engine !== 'logstash' && { error: /more than 20000/ }),
    },
    {
      what: 'millions of empty entries',
      body: () => within(`${head}[`, repeated('{},', 15 * MB), `{}]${tail}`),
      error: NOT_JSON,
    },
    {
      what: 'millions of numbers',
      body: () => within(`${head}[`, repeated('0,', 3.9 * MB), `0]${tail}`),
      error: NOT_JSON,
    },
    { what: 'deep lists', body: () => repeated('[', 50 * MB), error: /deeper than 32 levels/ },
    {
      what: 'one text of 50 MB',
      body: () => within('{"a":"', repeated('x', 50 * MB), '"}'),
      error: /a text of more than/,
    },
    {
      what: 'a number of 50 MB',
      body: () => within('{"a":', repeated('1', 50 * MB), '}'),
      error: /a number of more than/,
    },
    {
      what: 'a text of escapes',
      body: () => within('{"a":"', repeated('\\n', 8 * MB - 2), '"}'),
      error: NOT_JSON,
    },
    {
      what: '99,999 keys',
      body: () =>
        Buffer.from(`{"a":{${Array.from({ length: 99_999 }, (_, at) => `"k${at}":{"b":[]}`).join(',')}}}`),
      error: NOT_JSON,
    },
    {
      what: 'what is no JSON at its end',
      body: () => within(`${head}[`, repeated('{"a":1},', 4 * MB), `{}]${tail},`),
      error: /not valid JSON/,
    },
  ].map(bomb => ({ engine, ...bomb })),
);

/** Pages for every format, all of about 50 MB at most: a sweep compares them with the table of engines. */
export const PAGE_BOMBS: readonly PageBomb[] = [
  ...JSON_BOMBS,
  { what: '50 MB of empty lines', body: () => repeated('\n', 50 * MB), error: /none that engine vector/ },
  { what: '50 MB of blanks in one line', body: () => repeated(' ', 50 * MB), error: NOT_TEXT },
  { what: '50 MB of one letter', body: () => repeated('a', 50 * MB), error: NOT_TEXT },
  { what: '50 MB of comments', body: () => repeated('# x\n', 50 * MB), error: /none that engine vector/ },
  { what: 'one comment of 50 MB', body: () => repeated('#', 50 * MB), error: /none that engine vector/ },
  { what: '50 MB of bytes that are no text', body: () => Buffer.alloc(50 * MB, 0xff), error: NOT_TEXT },
  {
    what: 'the name of an uptime without an end',
    body: () => repeated('vector_uptime_seconds', 50 * MB),
    error: NOT_TEXT,
  },
  {
    what: 'a start time in every line',
    body: () => repeated('process_start_time_seconds 1\n', 50 * MB),
    error: /none that engine vector/,
  },
  {
    what: 'an HTML page of 50 MB',
    body: () => repeated('<p>Service unavailable</p>\n', 50 * MB),
    headers: { 'content-type': 'text/html' },
    error: NOT_TEXT,
  },
  { what: '50 MB of the same series', body: () => repeated(KNOWN, 50 * MB) },
  { what: '300,000 series', body: () => pageOf(300_000, at => `${series(`,x="${at}"`)} 5\n`) },
  { what: 'a million names', body: () => pageOf(1_000_000, at => `vector_other_${at} 5\n`) },
  {
    what: '1,000 labels a series',
    body: () =>
      pageOf(1500, at => `${series(Array.from({ length: 1000 }, (_, l) => `,l${l}="${at}"`).join(''))} 5\n`),
    error: NOT_TEXT,
  },
  {
    what: 'labels that are all escapes',
    body: () => pageOf(10_000, at => `${series(`,x="${at}${String.raw`\n\\\"`.repeat(600)}"`)} 5\n`),
  },
  {
    what: 'values that are no counts',
    body: () =>
      pageOf(200_000, at => `${series(`,x="${at}"`)} ${['NaN', '+Inf', '-Inf', '-5', '1e999'][at % 5]}\n`),
  },
  {
    what: 'exemplars, units, times of creation and native histograms',
    headers: OPEN_METRICS,
    body: () =>
      Buffer.concat([
        pageOf(
          100_000,
          at =>
            `# UNIT vector_x_seconds seconds\n${series(`,x="${at}"`)} 5 # {trace_id="${at}"} 1 1\nvector_component_received_events_created{component_id="app"} 1\nvector_h_bucket{le="+Inf"} 5 # {} 1\n`,
        ),
        Buffer.from('# EOF\n'),
      ]),
  },
  {
    what: 'OpenMetrics without its end',
    headers: OPEN_METRICS,
    body: () => repeated(KNOWN, 50 * MB),
    error: /without # EOF/,
  },
  {
    what: 'gzip of 50 MB that ends early',
    headers: { 'content-encoding': 'gzip' },
    body: () => gzipSync(repeated(KNOWN, 50 * MB)).subarray(0, -20),
    error: /unexpected end of file|gzip|cannot be/i,
  },
  {
    what: 'gzip of more than maxBytes',
    headers: { 'content-encoding': 'gzip' },
    body: () => gzipSync(repeated('\n', 400 * MB)),
    error: /larger than/,
  },
];
