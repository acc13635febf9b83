import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { listenLocally } from './listen-locally.ts';

const eventShape = z.looseObject({
  status: z.enum(['ALARM', 'OK']),
  cribl_notification: z.string(),
  incidentId: z.string(),
  key: z.string().optional(),
  _raw: z.string(),
});

/** One request as it came. */
export interface Call {
  /** Its webhook-id: the delivery. */
  readonly id: string;
  /** Which request of this id it is, from 1. */
  readonly number: number;
  readonly path: string;
  /** Milliseconds of a clock that is not set back. */
  readonly at: number;
  readonly event: z.output<typeof eventShape>;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Whether it was answered with 2xx. */
  readonly isTaken: boolean;
}

export type Reply = (call: Call, response: ServerResponse) => void;

/** A receiver that does what a test says, request by request. */
export interface ScriptedSink {
  readonly url: string;
  /** Every request, in the order they came. */
  readonly calls: readonly Call[];
  /** Those that were answered with 2xx. */
  taken(): readonly Call[];
  /** From now on; at first everything is taken. */
  reply(next: Reply): void;
}

export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Reply =>
  (_call, response) =>
    void response.writeHead(code, headers).end(body);

export const take = status(200);

/** Takes the request and never answers. */
export const hang: Reply = () => {};

type Serve = (listener: RequestListener) => Server;

/** Ends when the test has finished. `serve` is for one that speaks TLS. */
export async function scriptedSink(serve: Serve = listener => createServer(listener)): Promise<ScriptedSink> {
  const calls: Call[] = [];
  const numbers = new Map<string, number>();
  let reply: Reply = take;
  const server = serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const id = String(request.headers['webhook-id'] ?? '');
      const number = (numbers.get(id) ?? 0) + 1;
      numbers.set(id, number);
      const [line = ''] = Buffer.concat(chunks).toString('utf8').split('\n');
      const call = {
        id,
        number,
        path: request.url ?? '',
        at: performance.now(),
        event: eventShape.parse(JSON.parse(line)),
        headers: request.headers,
        get isTaken() {
          return response.writableEnded && response.statusCode >= 200 && response.statusCode < 300;
        },
      };
      calls.push(call);
      reply(call, response);
    });
  });
  const { url, end } = await listenLocally(server);
  onTestFinished(end);
  return {
    url,
    calls,
    taken: () => calls.filter(call => call.isTaken),
    reply(next) {
      reply = next;
    },
  };
}

/** A webhook target that sends one event in a request. */
export const single = (id: string, url: string, more: object = {}): object => ({
  id,
  type: 'webhook',
  url,
  maxPayloadEvents: 1,
  ...more,
});
