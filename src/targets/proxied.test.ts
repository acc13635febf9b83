import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { noDial } from '../../test/helpers/no-http.ts';
import { systemClock } from '../lib/clock.ts';
import { createHttpClient } from '../lib/http/client.ts';
import { proxiesFrom } from '../lib/http/proxy.ts';
import { findTargetType } from './index.ts';

const url = 'http://receiver.example/in';

/** Answers every request itself. */
async function forwardProxy(): Promise<{
  readonly HTTP_PROXY: string;
  readonly asked: (string | undefined)[];
}> {
  const asked: (string | undefined)[] = [];
  const server = createServer((incoming, response) => {
    asked.push(incoming.url);
    response.writeHead(202).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
  return { HTTP_PROXY: `http://127.0.0.1:${address.port}`, asked };
}

test.each([
  [{ type: 'webhook', url }, [url]],
  [{ type: 'webhook', url, authType: 'token', token: 'own' }, [url]],
  [{ type: 'webhook', url, keepAlive: false, rejectUnauthorized: false, useRoundRobinDns: true }, [url]],
  [{ type: 'pager_duty', url, routingKey: '0123456789abcdef0123456789abcdef', severity: 'error' }, [url]],
  [{ type: 'slack', url }, [url]],
  [
    {
      ...{ type: 'sns', endpoint: 'http://receiver.example', region: 'eu-west-1', maxRetries: 0 },
      ...{ destinationType: 'topic', topicArn: 'arn:aws:sns:eu-west-1:1:a', messageGroupId: '' },
      ...{ awsAuthenticationMethod: 'manual', awsApiKey: 'AKIDEXAMPLE0000001', awsSecretKey: 's3cret' },
    },
    ['http://receiver.example/'],
  ],
])('%j sends through the proxy of the environment: %j', async (settings, expected) => {
  const { HTTP_PROXY, asked } = await forwardProxy();
  const http = createHttpClient({
    privateAddresses: 'allow',
    allowedAddresses: [],
    clock: systemClock,
    proxies: proxiesFrom({ HTTP_PROXY }),
    resolve: (_, done) => done(Object.assign(new Error('no name'), { code: 'ENOTFOUND' }), []),
  });
  onTestFinished(() => http.close());
  const target = findTargetType(settings.type)?.configure({ id: 't', ...settings });
  const event = {
    id: 'e1',
    status: 'ALARM' as const,
    condition: 'no-data',
    cribl_notification: 'n',
    incidentId: 'i1',
    severity: 'warn' as const,
    _raw: 'x',
    _time: 0,
    starttime: 0,
    endtime: 0,
    cribl_host: 'h',
  };
  await target?.send([event], {
    deliveryId: 'd1',
    http,
    dial: noDial,
    secretOf: () => undefined,
    clock: systemClock,
    signal: new AbortController().signal,
    logFolder: '/nowhere',
  });
  expect(asked).toEqual(expected);
});
