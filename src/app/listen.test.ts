import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { listenLocally } from '../../test/acceptance/listen-locally.ts';
import { testClock } from '../../test/helpers/clock.ts';
import { until } from '../../test/helpers/until.ts';
import { closeServer } from './listen.ts';

it('lets requests under way end for two seconds, then cuts off who does not go on', async () => {
  const clock = testClock();
  const server = createServer(() => {});
  const { url } = await listenLocally(server);
  const client = connect(Number(new URL(url).port), '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf');
  await once(server, 'request');
  let closed = false;
  const close = () => new Promise<void>(resolve => server.close(() => resolve()));
  void closeServer({ server, close }, clock).then(() => {
    closed = true;
  });
  await clock.advance(1999);
  expect(closed).toBe(false);
  await clock.advance(1);
  await until(() => closed);
  client.destroy();
});
