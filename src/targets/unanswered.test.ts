import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { noDial } from '../../test/helpers/no-http.ts';
import { until } from '../../test/helpers/until.ts';
import { withDeliveryHints } from '../events/delivery-hints.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { createDial } from '../lib/dial.ts';
import { createHttpClient } from '../lib/http/client.ts';
import { findTargetType, targetTypes } from './index.ts';
import type { Outcome } from './outcome.ts';

type Settings = Readonly<Record<string, unknown>>;

interface Receiver {
  /** Settings of a target whose receiver is at this port of this machine. */
  readonly settings: (port: number) => Settings;
  /** Answers what comes before the message, and true once the message is whole. */
  readonly hears: (connection: Socket, heard: string) => boolean;
  /** The beginning of its answer. */
  readonly half: string;
}

const hearsHttp = (_: Socket, heard: string): boolean => {
  const end = heard.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(heard)?.[1];
  return end > 0 && heard.length >= end + 4 + Number(length ?? 0);
};

const http = (settings: (port: number) => Settings): Receiver => ({
  settings,
  hears: hearsHttp,
  half: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{',
});

const AWS = {
  ...{ region: 'eu-west-1', maxRetries: 0, messageGroupId: '' },
  ...{ awsAuthenticationMethod: 'manual', awsApiKey: 'AKIDEXAMPLE0000001', awsSecretKey: 's3cret' },
};

const mail: Receiver = {
  settings: port => ({
    ...{ host: '127.0.0.1', port, from: 'headgate@example.org', encryptionOption: 'NONE' },
    ...{ smtpUsername: '', smtpPassword: '' },
  }),
  hears(connection, heard) {
    const isInMessage = /^DATA\r\n/im.test(heard);
    if (heard.endsWith('\r\n.\r\n')) return true;
    if (heard === '') connection.write('220 mail.example\r\n');
    else if (!isInMessage) connection.write('250 OK\r\n');
    else if (heard.endsWith('DATA\r\n')) connection.write('354 go on\r\n');
    return false;
  },
  half: '25',
};

/** Every type, by name; `local` ones ask nobody. A type that is missing here fails. */
const RECEIVERS: Readonly<Record<string, readonly Receiver[] | 'local'>> = {
  webhook: [
    http(port => ({ url: `http://127.0.0.1:${port}/in` })),
    http(port => ({ url: `http://127.0.0.1:${port}/in`, compress: true, keepAlive: false })),
  ],
  slack: [http(port => ({ url: `http://127.0.0.1:${port}/in` }))],
  pager_duty: [
    http(port => ({
      ...{ url: `http://127.0.0.1:${port}/in`, severity: 'error' },
      routingKey: '0123456789abcdef0123456789abcdef',
    })),
  ],
  sns: [
    http(port => ({
      ...{ ...AWS, endpoint: `http://127.0.0.1:${port}` },
      ...{ destinationType: 'topic', topicArn: 'arn:aws:sns:eu-west-1:1:a' },
    })),
    http(port => ({
      ...{ ...AWS, endpoint: `http://127.0.0.1:${port}` },
      ...{ destinationType: 'phoneNumber', topicArn: '', phoneNumber: '+15555551234' },
    })),
  ],
  smtp: [mail],
  router: 'local',
  default: 'local',
  bulletin_message: 'local',
  notifications_log: 'local',
};

const event: HeadgateEvent = {
  ...{ id: 'e1', status: 'ALARM', condition: 'no-data', cribl_notification: 'n', incidentId: 'i1' },
  ...{ severity: 'warn', _raw: 'x', _time: 0, starttime: 0, endtime: 0, cribl_host: 'h' },
};
const recipients = { __targetConfigs: { t: { emailRecipient: { to: 'ops@example.org' } } } };
const sentEvent = withDeliveryHints(event, { ...event, ...recipients });

interface World {
  readonly clock: ReturnType<typeof testClock>;
  readonly stop: AbortController;
  readonly send: (port: number) => Promise<Outcome>;
}

function worldOf(type: string, { settings }: Pick<Receiver, 'settings'>): World {
  const clock = testClock();
  const stop = new AbortController();
  const policy = { privateAddresses: 'allow', allowedAddresses: [] } as const;
  const client = createHttpClient({ ...policy, clock });
  onTestFinished(() => client.close());
  return {
    clock,
    stop,
    async send(port) {
      const target = findTargetType(type)?.configure({ id: 't', type, ...settings(port) });
      if (target === undefined) throw new Error(`there is no type ${type}`);
      return target.send([sentEvent], {
        ...{ deliveryId: 'd1', http: client, dial: createDial(policy), clock, logFolder: '/nowhere' },
        ...{ secretOf: () => undefined, signal: stop.signal },
      });
    },
  };
}

/** A receiver that takes the whole message, and then does as it is told. */
async function listening(receiver: Receiver, then: (connection: Socket) => void): Promise<number> {
  const server = createServer(connection => {
    let heard = '';
    connection.on('error', () => {});
    receiver.hears(connection, '');
    connection.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
      if (receiver.hears(connection, heard)) then(connection);
    });
    onTestFinished(() => void connection.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver does not listen');
  return address.port;
}

/** Of the discard service, where nothing listens: a free port may be somebody's by the time it is asked. */
const CLOSED_PORT = 9;

/** Longer than any limit of a target. */
const FOREVER_MS = 3_600_000;

const AFTERWARDS: readonly [string, (connection: Socket, receiver: Receiver) => void][] = [
  ['says nothing', () => {}],
  ['resets the connection', connection => connection.resetAndDestroy()],
  ['closes the connection', connection => connection.end()],
  ['says half an answer, and no more', (connection, { half }) => connection.write(half)],
  ['says half an answer and closes', (connection, { half }) => connection.end(half)],
];

const talking = Object.entries(RECEIVERS).flatMap(([type, receivers]) =>
  receivers === 'local' ? [] : receivers.map((receiver, index) => ({ type, index, receiver })),
);

test('every type of target is named here', () => {
  expect(Object.keys(RECEIVERS).sort()).toEqual(targetTypes.map(({ type }) => type).sort());
});

describe.each(talking)('$type ($index)', ({ type, receiver }) => {
  test.each(AFTERWARDS)('nobody knows of a message after which the receiver %s', async (_, act) => {
    const { clock, send } = worldOf(type, receiver);
    let isTaken = false;
    const port = await listening(receiver, connection => {
      act(connection, receiver);
      isTaken = true;
    });
    const sent = send(port);
    await Promise.race([sent, until(() => isTaken)]);
    await clock.advance(FOREVER_MS);
    expect(await sent).toMatchObject({ kind: 'unknown' });
  });

  test('nobody knows of a message that was under way when the process stopped', async () => {
    const { send, stop } = worldOf(type, receiver);
    const port = await listening(receiver, () => stop.abort());
    expect(await send(port)).toMatchObject({ kind: 'unknown' });
  });

  test('a message for which there was no connection has not arrived', async () => {
    const { send } = worldOf(type, receiver);
    expect(await send(CLOSED_PORT)).toMatchObject({ kind: 'retry' });
  });
});

const local = targetTypes.filter(({ type }) => RECEIVERS[type] === 'local');

test.each(local)('$type asks nobody, so that it always knows', async ({ type }) => {
  const logFolder = mkdtempSync(join(tmpdir(), 'headgate-outcomes-'));
  onTestFinished(() => rmSync(logFolder, { recursive: true }));
  const routes = [{ filter: 'true', output: 'a' }];
  const own = { router: { routes }, default: { defaultId: 'a' } }[type];
  const target = findTargetType(type)?.configure({ id: 't', type, ...own });
  const fails = async (): Promise<never> => {
    throw new Error('it asked somebody');
  };
  const outcome = await target?.send([event], {
    ...{
      deliveryId: 'd1',
      http: { request: fails, close: async () => {} },
      dial: noDial,
      clock: testClock(),
    },
    ...{ secretOf: () => undefined, signal: new AbortController().signal, logFolder },
  });
  expect(['sent', 'refused']).toContain(outcome?.kind);
});

test('types whose receivers show each repeat say so', () => {
  const shows = talking.filter(
    ({ type, receiver }) =>
      findTargetType(type)?.configure({ id: 't', type, ...receiver.settings(1) }).showsRepeats,
  );
  expect([...new Set(shows.map(({ type }) => type))]).toEqual(['slack', 'sns', 'smtp']);
  const fifo = { topicType: 'fifo', topicArn: 'arn:aws:sns:eu-west-1:1:a.fifo', messageGroupId: 'g' };
  const settings = { ...AWS, ...fifo, id: 't', type: 'sns', destinationType: 'topic' };
  expect(findTargetType('sns')?.configure(settings).showsRepeats).toBe(false);
});
