import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as z from 'zod';
import { listenLocally } from './listen-locally.ts';

const MOST_BYTES = 512 * 1024;
/** Standard Webhooks: an id has no dot. */
const WEBHOOK_ID = /^[A-Za-z0-9_-]{1,128}$/;

const eventShape = z.looseObject({
  id: z.string(),
  status: z.enum(['ALARM', 'OK']),
  condition: z.string(),
  cribl_notification: z.string(),
  input: z.string().optional(),
  incidentId: z.string(),
  _raw: z.string(),
});
type SunkEvent = z.infer<typeof eventShape>;

/** An event of a request that was taken. */
interface Sunk {
  readonly webhookId: string;
  readonly event: SunkEvent;
  /** Of the whole request. */
  readonly body: string;
}

/** `hang`: takes the request and never answers. `unavailable`: answers 503. */
type Mood = 'accept' | 'unavailable' | 'hang';

/** A webhook receiver that is as strict as vendors are. */
export interface Sink {
  readonly url: string;
  /** The events of every request that was answered with 200, repeats included. */
  readonly taken: readonly Sunk[];
  /** What a vendor would have refused: a test ends with none. */
  readonly refusals: readonly string[];
  /** The webhook-id of every request that came, whatever became of it. */
  readonly requests: readonly string[];
  /** The first of each event, in the order they came. */
  events(): readonly SunkEvent[];
  become(mood: Mood): void;
  end(): Promise<void>;
}

export async function openSink(authorization?: string): Promise<Sink> {
  const taken: Sunk[] = [];
  const refusals: string[] = [];
  const requests: string[] = [];
  const bodies = new Map<string, string>();
  let mood: Mood = 'accept';

  function answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    const webhookId = String(request.headers['webhook-id'] ?? '');
    requests.push(webhookId);
    if (mood === 'hang') return;
    if (mood === 'unavailable') return void response.writeHead(503).end();
    const refusal = refusalOf(request, body, authorization) ?? changed(webhookId, body);
    if (typeof refusal === 'string') {
      refusals.push(refusal);
      return void response.writeHead(400).end(refusal);
    }
    bodies.set(webhookId, body);
    for (const line of linesOf(body))
      taken.push({ webhookId, event: eventShape.parse(JSON.parse(line)), body });
    response.writeHead(200).end('ok');
  }

  function changed(webhookId: string, body: string): string | undefined {
    const before = bodies.get(webhookId)?.split('\n');
    // What was booked before a crash does not come again.
    const isSame = before === undefined || body.split('\n').every(line => before.includes(line));
    return isSame ? undefined : `${webhookId} came again with another body`;
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, Buffer.concat(chunks).toString('utf8'), response));
  });
  const { url, end } = await listenLocally(server);
  return {
    url: `${url}/hook`,
    taken,
    refusals,
    requests,
    events: () => firsts(taken),
    become(next) {
      mood = next;
    },
    end,
  };
}

function firsts(taken: readonly Sunk[]): SunkEvent[] {
  const seen = new Set<string>();
  return taken.filter(({ event }) => !seen.has(event.id) && seen.add(event.id)).map(({ event }) => event);
}

function refusalOf(
  request: IncomingMessage,
  body: string,
  authorization: string | undefined,
): string | undefined {
  if (request.method !== 'POST' || request.url !== '/hook') return `${request.method} ${request.url}`;
  if (request.headers['content-type'] !== 'application/x-ndjson')
    return `content-type ${request.headers['content-type']}`;
  if (request.headers.authorization !== authorization)
    return 'the Authorization header is not the configured one';
  if (!WEBHOOK_ID.test(String(request.headers['webhook-id'] ?? '')))
    return `webhook-id ${request.headers['webhook-id']}`;
  if (Buffer.byteLength(body) > MOST_BYTES) return 'the body is over 512 KB';
  return bodyFault(body);
}

const linesOf = (body: string): readonly string[] => body.split('\n').slice(0, -1);

function bodyFault(body: string): string | undefined {
  if (!body.endsWith('\n')) return `the last line has no end: ${body}`;
  return linesOf(body)
    .map(lineFault)
    .find(fault => fault !== undefined);
}

function lineFault(line: string): string | undefined {
  try {
    const parsed = eventShape.safeParse(JSON.parse(line));
    if (!parsed.success) return `not an event: ${line}`;
    const inner = Object.keys(parsed.data).filter(key => key.startsWith('__'));
    return inner.length > 0 ? `fields that must not leave: ${inner.join(', ')}` : undefined;
  } catch {
    return `not JSON: ${line}`;
  }
}
