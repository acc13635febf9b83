import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createDial } from './dial.ts';
import type { AddressPolicy, Resolve } from './http/guard.ts';

/** Listens on loopback and counts who comes. */
async function listener() {
  let connections = 0;
  const server = createServer(socket => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, connections: () => connections };
}

const { signal } = new AbortController();
const REFUSE: AddressPolicy = { privateAddresses: 'refuse', allowedAddresses: [] };
const forbidden = expect.objectContaining({ reason: 'forbidden-address' });

test.each([
  '127.0.0.1',
  '127.1',
  '0x7f.1',
  '0177.0.0.1',
  '2130706433',
  'localhost',
  '::1',
  '::ffff:127.0.0.1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
])('%s is connected to by nobody where private addresses are refused', async host => {
  const { port, connections } = await listener();
  const dial = createDial(REFUSE);
  await expect(dial({ host, port, signal })).rejects.toEqual(forbidden);
  await expect(dial({ host, port, signal, tls: {} })).rejects.toEqual(forbidden);
  expect(connections()).toBe(0);
});

test('metadata is refused whatever is allowed, however its address is written', async () => {
  const dial = createDial({ privateAddresses: 'allow', allowedAddresses: ['0.0.0.0/0', '::/0'] });
  for (const host of ['169.254.169.254', '0xa9fea9fe', '2852039166', '::ffff:169.254.169.254', 'fe80::1'])
    await expect(dial({ host, port: 80, signal })).rejects.toEqual(forbidden);
});

test('a name whose answer changes is looked up once for a connection, and judged anew for the next', async () => {
  const { port, connections } = await listener();
  const answers = ['127.0.0.1', '169.254.169.254', '127.0.0.1'];
  const asked: string[] = [];
  const resolve: Resolve = (hostname, done) => {
    asked.push(hostname);
    done(null, [{ address: answers[asked.length - 1] ?? '', family: 4 }]);
  };
  const dial = createDial({ privateAddresses: 'refuse', allowedAddresses: ['127.0.0.1'], resolve });
  const to = { host: 'mail.example', port, signal };
  const socket = await dial(to);
  expect([socket.remoteAddress, asked.length]).toEqual(['127.0.0.1', 1]);
  socket.destroy();
  await expect(dial(to)).rejects.toEqual(forbidden);
  expect([asked.length, connections()]).toEqual([2, 1]);
});
