import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { sendOnce } from '../../test/helpers/sending.ts';
import type { HeadgateEvent } from '../events/event.ts';
import type { Outcome } from './outcome.ts';

const event: HeadgateEvent = {
  ...{ id: 'e1', status: 'ALARM', condition: 'no-data', cribl_notification: 'n', incidentId: 'i1' },
  ...{ severity: 'warn', _raw: 'x', _time: 0, starttime: 0, endtime: 0, cribl_host: 'h' },
};

/** A receiver that reads the request to its end and then answers in its own way; counts the connections. */
async function receiver(answer: (connection: Socket) => void) {
  let connections = 0;
  const server = createServer(connection => {
    let heard = '';
    connections += 1;
    connection.on('error', () => {});
    connection.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
      const end = heard.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(heard)?.[1] ?? 0);
      if (end < 0 || heard.length < end + 4 + length) return;
      heard = '';
      answer(connection);
    });
    onTestFinished(() => void connection.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver does not listen');
  return { url: `http://127.0.0.1:${address.port}/in`, connections: () => connections };
}

const ends =
  (text: string | Buffer) =>
  (connection: Socket): void =>
    void connection.end(text);
const stays =
  (text: string | Buffer) =>
  (connection: Socket): void =>
    void connection.write(text);

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const forEver =
  (text: string) =>
  (connection: Socket): void => {
    const timer = setInterval(() => connection.write(text), 5);
    onTestFinished(() => clearInterval(timer));
  };

const head = (status: number, more = ''): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unnamed'}\r\n${more}content-length: 0\r\n\r\n`;

const RETRIED = [408, 425, 429];

function outcomeOf(status: number): Outcome['kind'] {
  if (status >= 200 && status <= 299) return 'sent';
  if (status >= 500 && status !== 501 && status !== 505) return 'retry';
  return RETRIED.includes(status) ? 'retry' : 'refused';
}

test('each status has its outcome, named or not, and none is unknown', async () => {
  const statuses = Array.from({ length: 400 }, (_, index) => 200 + index);
  let status = 0;
  const { url } = await receiver(connection => stays(head(status))(connection));
  for (status of statuses) {
    const outcome = await sendOnce({ type: 'webhook', url }, [event]);
    expect([status, outcome.kind, outcome.httpStatus]).toEqual([status, outcomeOf(status), status]);
  }
});

const SETTINGS_FRAME = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const LONG_HEADER = `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(10_000_000)}\r\ncontent-length: 0\r\n\r\n`;
const GARBAGE = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256));

test.each<readonly [string, (connection: Socket) => void, Outcome['kind']]>([
  ['nothing, and closes', ends(''), 'unknown'],
  ['a reset', connection => connection.resetAndDestroy(), 'unknown'],
  ['nothing', () => {}, 'unknown'],
  ['half a line of status, and closes', ends('HTTP/1.1 20'), 'unknown'],
  ['half of its headers', stays('HTTP/1.1 200 OK\r\ncontent-le'), 'unknown'],
  ['half of its body, and closes', ends('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'), 'unknown'],
  [
    'half of a chunk, and stays',
    stays('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc'),
    'unknown',
  ],
  ['an endless body', stays('HTTP/1.1 200 OK\r\n\r\nabc'), 'unknown'],
  ['garbage', ends(GARBAGE), 'unknown'],
  ['an answer of another protocol', ends('SSH-2.0-OpenSSH_9.2\r\n'), 'unknown'],
  ['a frame of HTTP/2', ends(SETTINGS_FRAME), 'unknown'],
  ['a page of HTTP/0.9', ends('<html>thank you</html>'), 'unknown'],
  ['headers of 10 MB', ends(LONG_HEADER), 'unknown'],
  [
    'two lengths that differ',
    ends('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
    'unknown',
  ],
  [
    'gzip that is none',
    ends('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc'),
    'unknown',
  ],
  ['100 first, though nobody asked', ends(`HTTP/1.1 100 Continue\r\n\r\n${head(200)}`), 'sent'],
  [
    '100, 103 and 100 first',
    ends(`${CONTINUE}HTTP/1.1 103 Early Hints\r\n\r\n${CONTINUE}${head(503)}`),
    'retry',
  ],
  ['100 and nothing else', stays(CONTINUE), 'unknown'],
  ['100 and nothing else, and closes', ends(CONTINUE), 'unknown'],
  ['100 for ever', forEver(CONTINUE), 'unknown'],
  ['204 with a length and a body', ends('HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok'), 'sent'],
  ['204 with a length, and stays', stays('HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n'), 'sent'],
  ['304 with the length of what it did not send', stays(head(304).replace(': 0', ': 90')), 'refused'],
  ['103 first', ends(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${head(200)}`), 'sent'],
  ['102 first', ends(`HTTP/1.1 102 Processing\r\n\r\n${head(204)}`), 'sent'],
  ['a body without a length, and closes', ends('HTTP/1.1 200 OK\r\n\r\nabc'), 'sent'],
  ['the status in HTTP/1.0', ends('HTTP/1.0 200 OK\r\n\r\n'), 'sent'],
  ['a status without its reason', ends('HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n'), 'sent'],
  ['a status that there is not', ends('HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n'), 'refused'],
])('a receiver that answers %s', async (_what, answer, kind) => {
  const { url } = await receiver(answer);
  const outcome = await sendOnce({ type: 'webhook', url, timeoutSec: 1 }, [event]);
  expect(outcome).toMatchObject({ kind });
  if (outcome.kind !== 'sent') expect(outcome.reason.length).toBeLessThan(300);
});

test.each([
  [413, 'refused'],
  [503, 'retry'],
])(
  'an answer of %i to the beginning of a request counts, whether the rest is read or not',
  async (status, kind) => {
    for (const reads of [true, false]) {
      const server = createServer(connection => {
        connection.on('error', () => {});
        connection.once('data', () => {
          if (!reads) connection.pause();
          connection.write(`HTTP/1.1 ${status} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
        });
        onTestFinished(() => void connection.destroy());
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('the receiver does not listen');
      const url = `http://127.0.0.1:${address.port}/in`;
      const large = { ...event, _raw: 'x'.repeat(3_000_000) };
      expect(await sendOnce({ type: 'webhook', url, timeoutSec: 5 }, [large])).toMatchObject({
        kind,
        httpStatus: status,
      });
    }
  },
);

test.each([
  'http://169.254.169.254/latest/meta-data',
  'http://127.0.0.1:1/',
  'file:///etc/passwd',
  '//[::1]/',
  '',
])('a redirect to %j is followed nowhere, and refused', async location => {
  for (const status of [301, 302, 303, 307, 308]) {
    const { url, connections } = await receiver(ends(head(status, `location: ${location}\r\n`)));
    const outcome = await sendOnce({ type: 'webhook', url }, [event]);
    expect(outcome).toMatchObject({ kind: 'refused', httpStatus: status });
    expect(connections()).toBe(1);
  }
});
