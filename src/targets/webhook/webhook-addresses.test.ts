import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { noDial } from '../../../test/helpers/no-http.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { systemClock } from '../../lib/clock.ts';
import { createHttpClient } from '../../lib/http/client.ts';
import type { Outcome } from '../outcome.ts';
import { webhook } from './webhook.ts';

const event: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  severity: 'warn',
  _raw: 'Source syslog:app had no data for 60s',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
};

const ADDRESSES = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];

/** A receiver that records by which of its addresses it was reached. */
async function receiver(host: string): Promise<{ readonly port: number; readonly reached: unknown[] }> {
  const reached: unknown[] = [];
  const server = createServer((request, response) => {
    reached.push(request.socket.localAddress);
    response.end();
  }).listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver does not listen');
  return { port: address.port, reached };
}

/** Sends `times` over one client, to which the addresses of the host come in another order each time. */
async function send(port: number, times: number, settings: object, known = ADDRESSES): Promise<Outcome[]> {
  let lookups = 0;
  const http = createHttpClient({
    privateAddresses: 'allow',
    allowedAddresses: [],
    clock: systemClock,
    resolve: (_, done) => {
      const ordered = lookups++ % 2 === 0 ? known : known.toReversed();
      done(
        null,
        ordered.map(address => ({ address, family: 4 })),
      );
    },
  });
  onTestFinished(() => http.close());
  const url = `http://many.example:${port}/`;
  const target = webhook.configure({ id: 'hook', type: 'webhook', url, ...settings });
  const outcomes: Outcome[] = [];
  for (let time = 0; time < times; time++)
    outcomes.push(
      await target.send([event], {
        deliveryId: 'd1',
        http,
        dial: noDial,
        secretOf: () => undefined,
        clock: systemClock,
        signal: new AbortController().signal,
        logFolder: '/nowhere',
      }),
    );
  return outcomes;
}

const SENT = { kind: 'sent', httpStatus: 200 };

test('with useRoundRobinDns, new connections alternate among the addresses of the host', async () => {
  const { port, reached } = await receiver('0.0.0.0');
  await send(port, 4, { useRoundRobinDns: true, keepAlive: false });
  expect(reached).toEqual([...ADDRESSES, '127.0.0.1']);
});

test('without it they begin at the address that comes first', async () => {
  const { port, reached } = await receiver('0.0.0.0');
  await send(port, 3, { keepAlive: false });
  expect(reached).toEqual(['127.0.0.1', '127.0.0.3', '127.0.0.1']);
});

test('an address where nothing listens loses no event: the next one is used', async () => {
  const { port, reached } = await receiver('127.0.0.2');
  expect(await send(port, 3, { useRoundRobinDns: true, keepAlive: false })).toEqual([SENT, SENT, SENT]);
  expect(reached).toHaveLength(3);
});

test('one forbidden address among them refuses the host, whichever is used next', async () => {
  const { port, reached } = await receiver('0.0.0.0');
  const known = ['127.0.0.1', '169.254.169.254'];
  const refused = { kind: 'refused', reason: expect.stringContaining('metadata') };
  expect(await send(port, 2, { useRoundRobinDns: true, keepAlive: false }, known)).toEqual([
    refused,
    refused,
  ]);
  expect(reached).toEqual([]);
});
