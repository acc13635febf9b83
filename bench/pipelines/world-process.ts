import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as z from 'zod';
import { percentile } from '../delivery/table.ts';
import { COMPONENT, type command, PREFIX, request as requestSchema, SERIES } from './world-protocol.ts';

/**
 * The pages that both systems read, and the receiver of their alerts: pages of metrics whose counters grow by the clock, and a receiver that
 * knows when a component was last seen to grow.
 */
const [pagesText = '', perPageText = ''] = process.argv.slice(2);
const pages = Number(pagesText);
const perPage = Number(perPageText);

const PER_SECOND = [20, 9000, 20, 8800, 0, 0] as const;
const GAUGES = [0, 120, 10_000, 1] as const;

const begun = Date.now();
let stoppedAt = Number.POSITIVE_INFINITY;
let stoppedPerPage = 0;
/** By page, when it was last served with more than before of those that were stopped: once after that, too. */
const lastGrowth = new Float64Array(pages);
let grown = new Set<number>();
const alarmAt = new Map<number, number>();
let requests = 0;
/** The most components in one summary, and when it came. */
let summarised = { count: 0, at: Number.NaN };
let lastAt = 0;

/** The texts before the values, by page. */
const lines = Array.from({ length: pages }, (_, page) =>
  Array.from({ length: perPage }, (_, index) =>
    SERIES.map(
      name =>
        `${PREFIX}${name}{component_id="${COMPONENT}${page * perPage + index}",component_type="syslog",host="edge-${page}.example"} `,
    ),
  ),
);

function pageText(page: number): string {
  const now = Date.now();
  if (now < stoppedAt || !grown.has(page)) lastGrowth[page] = now;
  if (now >= stoppedAt) grown.add(page);
  const moving = valuesAt(now);
  const standing = valuesAt(Math.min(now, stoppedAt));
  let text = '';
  lines[page]?.forEach((own, index) => {
    const values = index < stoppedPerPage ? standing : moving;
    own.forEach((line, at) => {
      text += line + (values[at] ?? '');
    });
  });
  return text;
}

function valuesAt(now: number): string[] {
  const seconds = (now - begun) / 1000;
  const counters = PER_SECOND.map(rate => `${Math.floor(1000 + rate * seconds)}\n`);
  return [...counters, ...GAUGES.map(value => `${value}\n`)];
}

/** A summary of many says how many. */
const eventShape = z.object({
  status: z.string(),
  input: z.string().optional(),
  count: z.number().optional(),
});

function noteAlarms(body: string): void {
  requests++;
  lastAt = Date.now();
  for (const line of body.split('\n')) {
    if (line === '') continue;
    const { status, input, count } = eventShape.parse(JSON.parse(line));
    if (count !== undefined) {
      if (status === 'ALARM' && count > summarised.count) summarised = { count, at: lastAt };
      continue;
    }
    if (input === undefined) continue;
    const number = Number(input.slice(input.indexOf(COMPONENT) + COMPONENT.length));
    if (status === 'ALARM' && !alarmAt.has(number)) alarmAt.set(number, lastAt);
  }
}

function handle(request: IncomingMessage, response: ServerResponse): void {
  const page = /^\/page\/(\d+)$/.exec(request.url ?? '')?.[1];
  if (page !== undefined)
    return void response.writeHead(200, { 'content-type': 'text/plain' }).end(pageText(Number(page)));
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/hook') noteAlarms(Buffer.concat(chunks).toString('utf8'));
    response.writeHead(200).end();
  });
}

function answerCommand(received: z.output<typeof command>): unknown {
  if (received.kind === 'stop') {
    stoppedAt = Date.now();
    stoppedPerPage = received.perPage;
    grown = new Set();
    alarmAt.clear();
    summarised = { count: 0, at: Number.NaN };
    requests = 0;
    return {};
  }
  const delays = [...alarmAt].map(
    ([number, at]) => at - (lastGrowth[Math.floor(number / perPage)] ?? 0) - received.windowMs,
  );
  return {
    alarms: alarmAt.size,
    summarised: summarised.count,
    summaryLate: summarised.at - Math.max(...lastGrowth) - received.windowMs,
    requests,
    p50: percentile(delays, 0.5),
    p99: percentile(delays, 0.99),
    longest: percentile(delays, 1),
    lastAt,
  };
}

process.on('message', message => {
  const { id, command: received } = requestSchema.parse(message);
  process.send?.({ id, value: answerCommand(received) });
});
process.once('disconnect', () => process.exit(0));
const server = createServer(handle);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.send?.({ id: 0, value: { origin: `http://127.0.0.1:${port}` } });
});
