import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import {
  change,
  checkThread,
  description,
  HOOK,
  refusalOf,
  target,
} from '../../../test/helpers/held-configuration.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { openKeyRing } from '../../lib/keyring.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { FileTexts } from '../configuration.ts';
import { type ConfigurationHolder, createConfigurationHolder } from '../holder.ts';
import { UNLIMITED_QUOTAS } from '../restrictions.ts';
import { createSealedDocumentStore, documentSource } from './document.ts';

const WORKSPACE = 'main-acme';
const TERMS = {
  delivery: { privateAddresses: 'refuse', allowedAddresses: [] },
  externalUrl: 'https://main-acme.example.com',
} as const;
const QUOTAS = { ...UNLIMITED_QUOTAS, pipelines: 1, targets: 2, notifications: 1 };
const ALERT = {
  id: 'silent',
  condition: 'no-data',
  targets: ['hook'],
  conf: { name: 'app', timeWindow: '60s' },
};
const edge = (id: string) => ({ id, engine: 'vector', url: `https://${id}.example/` });

describe('the configuration of a workspace that has no files', () => {
  let held: TestStorage;
  const clock = testClock();
  beforeEach(async () => {
    held = await openTestStorage();
  });
  afterEach(() => held.close());

  /** As one process holds it. */
  async function open(isTold = true, quotas: Partial<typeof QUOTAS> = {}): Promise<ConfigurationHolder> {
    const restrictions = { ...TERMS, quotas: { ...QUOTAS, ...quotas } };
    const { storage, folder } = held;
    const keyRing = await openKeyRing({ path: join(folder, 'keys'), mayCreate: true });
    const documents = createSealedDocumentStore({ storage, workspace: WORKSPACE, keyRing, clock });
    const holder = createConfigurationHolder({
      thread: checkThread(clock),
      source: documentSource({
        ...{ folder: WORKSPACE, environment: { SECRET: 'x' }, flags: {}, restrictions, clock },
        ...{ logger: silentLogger, documents, first: await documents.read() },
        subscribe: listener =>
          isTold ? storage.subscribe(fact => fact.resource === 'documents' && listener()) : () => {},
      }),
      ...{ clock, logger: silentLogger },
    });
    onTestFinished(holder.stop);
    expect(holder.load()).toMatchObject({ ok: true });
    return holder;
  }

  /** As an older version or a backup has left it. */
  async function store(files: FileTexts): Promise<void> {
    const { storage, folder } = held;
    const keyRing = await openKeyRing({ path: join(folder, 'keys'), mayCreate: true });
    const documents = createSealedDocumentStore({ storage, workspace: WORKSPACE, keyRing, clock });
    const { texts } = await documents.read();
    await documents.write({ revision: 1, texts: { ...texts, ...files } });
  }

  const urls = (holder: ConfigurationHolder): unknown[] =>
    holder.get().targets.map(({ settings }) => settings.description);

  it('begins empty, and keeps a change for the next process that opens it', async () => {
    const holder = await open();
    expect(holder.get().targets).toEqual([]);
    await holder.save(change(target({ ...HOOK, description: 'first' })));
    expect(urls(holder)).toEqual(['first']);
    expect(urls(await open())).toEqual(['first']);
  });

  it('is read again by other processes as soon as they are notified', async () => {
    const [one, other] = [await open(), await open()];
    other.watch();
    await one.save(change(target({ ...HOOK, description: 'told' })));
    await expect.poll(() => urls(other)).toEqual(['told']);
  });

  it('is read again within seconds by a process that nobody notifies', async () => {
    const [one, other] = [await open(), await open(false)];
    other.watch();
    await one.save(change(target({ ...HOOK, description: 'found' })));
    await expect
      .poll(async () => {
        await clock.advance(3000);
        return urls(other);
      })
      .toEqual(['found']);
  });

  it('loses none of two changes that two processes make at once', async () => {
    const [one, other] = [await open(false), await open(false)];
    await one.save(change(target({ ...HOOK, id: 'one' })));
    await other.save(change(target({ ...HOOK, id: 'other' })));
    expect(other.get().targets.map(({ settings }) => settings.id)).toEqual(['one', 'other']);
    await one.reload();
    expect(one.get().targets).toHaveLength(2);
  });

  it('lies in the store encrypted', async () => {
    const holder = await open();
    await holder.save(description('not for everybody'));
    const row = await held.storage.in(WORKSPACE).document.get();
    expect(row).toMatchObject({ revision: 1 });
    expect(row?.sealed).not.toContain('not for everybody');
  });

  const settings = (value: object) => change({ section: 'settings', id: '', value });

  it.each([
    ['api', { api: { port: 80 } }],
    ['auth', { auth: { type: 'local' } }],
    ['storage', { storage: { url: 'sqlite:other.db' } }],
    ['delivery.privateAddresses', { delivery: { privateAddresses: 'allow' } }],
    ['instance.externalUrl', { instance: { externalUrl: 'https://elsewhere.example' } }],
  ])('leaves %s to whoever runs the service', async (path, value) => {
    const refusal = await refusalOf((await open()).save(settings(value)));
    expect(refusal.code).toBe('invalid-request');
    expect(refusal.problems).toContainEqual({
      path,
      message: 'is decided by the operator of this service; remove it',
    });
  });

  it.each(['${env:SECRET}', '${file:/etc/hostname}'])(
    'looks up nothing of the machine for %s',
    async text => {
      const token = { ...HOOK, authType: 'token', token: text };
      const refusal = await refusalOf((await open()).save(change(target(token))));
      expect(refusal.problems).toEqual([
        {
          path: 'token',
          message: `${text} cannot be looked up here; store a secret and write \${secret:NAME}; the target is switched off`,
        },
      ]);
    },
  );

  it.each([
    ['files', { files: ['/etc/hosts'] }, 'pipelines[0].files'],
    ['tls', { url: 'https://a.example/', tls: { caPath: '/etc/ssl/ca.pem' } }, 'pipelines[0].tls.caPath'],
  ])('names no file of the machine in %s of a pipeline', async (_, more, path) => {
    const pipelines = [{ id: 'edge', engine: 'vector', ...more }];
    const refusal = await refusalOf((await open()).save(settings({ pipelines })));
    expect(refusal.problems?.map(problem => problem.path)).toContain(path);
  });

  it('has no more of anything than its quota', async () => {
    const holder = await open();
    for (const id of ['one', 'two']) await holder.save(change(target({ ...HOOK, id })));
    const refusal = await refusalOf(holder.save(change(target({ ...HOOK, id: 'three' }))));
    expect(refusal.problems?.map(({ message }) => message)).toEqual([
      'notifications.yml: 3 targets are more than the 2 that a workspace may have (hosted.quotas.targets); remove some, or ask the operator of this service for more',
    ]);
    expect(holder.get().targets).toHaveLength(2);
  });

  it.each([
    ['notifications', 2, { section: 'notifications', id: 'other', value: { ...ALERT, id: 'other' } }],
    ['pipelines', 2, { section: 'settings', id: '', value: { pipelines: [edge('a'), edge('b')] } }],
  ] as const)('refuses %s over their quota', async (what, count, edit) => {
    const holder = await open();
    await holder.save(change(target(HOOK)));
    await holder.save(change({ section: 'notifications', id: ALERT.id, value: ALERT }));
    const refusal = await refusalOf(holder.save(change(edit)));
    expect(refusal.code).toBe('invalid-request');
    expect(JSON.stringify(refusal.problems)).toContain(
      `${count} ${what} are more than the 1 that a workspace may have (hosted.quotas.${what}); remove some, or ask the operator of this service for more`,
    );
  });

  it('keeps what it has when its quota is lowered, takes changes that add nothing, and goes down to it', async () => {
    const before = await open(true, { targets: 4 });
    for (const id of ['one', 'two', 'three', 'four']) await before.save(change(target({ ...HOOK, id })));
    const holder = await open();
    expect(holder.get().targets).toHaveLength(4);
    await holder.save(change(target({ ...HOOK, id: 'one', description: 'changed' })));
    const more = holder.save(change(target({ ...HOOK, id: 'five' })));
    expect((await refusalOf(more)).problems?.[0]?.message).toContain('5 targets are more than the 2');
    const without = (id: string) => holder.save(change({ section: 'targets', id, value: undefined }));
    await without('four');
    const again = holder.save(change(target({ ...HOOK, id: 'four' })));
    expect((await refusalOf(again)).problems?.[0]?.message).toContain('4 targets are more than the 2');
    expect(urls(holder)).toEqual(['changed', undefined, undefined]);
  });

  it('names no file of the machine', async () => {
    const edge = { id: 'edge', engine: 'vector', files: ['/etc/hosts'] };
    const refusal = await refusalOf((await open()).save(settings({ pipelines: [edge] })));
    expect(refusal.problems?.map(({ message }) => message)).toEqual([
      expect.stringContaining('names a file, and there are no files of yours here'),
    ]);
  });

  it('switches a stored target off that signs as the process, and takes every other change', async () => {
    const topic = {
      ...{ id: 'topic', type: 'sns', region: 'eu-west-1', destinationType: 'topic', messageGroupId: '' },
      topicArn: 'arn:aws:sns:eu-west-1:1:t',
    };
    await store({ 'notifications.yml': JSON.stringify({ targets: [topic] }) });
    const holder = await open();
    expect(holder.get().targets[0]?.switchedOff).toMatch(/'manual'.*'secret'/);
    expect(holder.status()).toMatchObject({
      state: 'ok',
      warnings: [
        { path: 'targets[0].awsAuthenticationMethod', message: expect.stringContaining('switched off') },
      ],
    });
    await holder.save(change(target(HOOK)));
    const refusal = await refusalOf(holder.save(change(target({ ...topic, description: 'kept' }))));
    expect(refusal.problems?.map(({ path }) => path)).toEqual(['awsAuthenticationMethod']);
    const keys = { awsApiKey: 'AKIDEXAMPLE0000001', awsSecretKey: 'k' };
    await holder.save(change(target({ ...topic, awsAuthenticationMethod: 'manual', ...keys })));
    expect(holder.get().targets[0]?.switchedOff).toBeUndefined();
  });

  it.each(['${env:SECRET}', '${file:/etc/hostname}'])(
    'switches a stored target off that refers to %s, looks up nothing, and takes every other change',
    async reference => {
      const stored = { ...HOOK, authType: 'token', token: reference };
      await store({ 'notifications.yml': JSON.stringify({ targets: [stored] }) });
      const holder = await open();
      expect(holder.get().targets[0]).toMatchObject({
        settings: { id: 'hook' },
        switchedOff: `token: ${reference} cannot be looked up here; store a secret and write \${secret:NAME}`,
      });
      expect(holder.status()).toMatchObject({
        state: 'ok',
        warnings: [
          { path: 'targets[0].token', message: expect.stringMatching(/; the target is switched off$/) },
        ],
      });
      await holder.save(change(target({ id: 'bell', type: 'bulletin_message' })));
      await holder.reload();
      expect(holder.get().targets[0]?.switchedOff).toContain(reference);
      await holder.save(change(target(HOOK)));
      expect(holder.get().targets[0]?.switchedOff).toBeUndefined();
    },
  );

  it.each([
    ['a token of the process', { url: 'https://a.example/', token: '${env:SECRET}' }, 'token'],
    ['an address in a file', { url: '${file:/etc/hosts}' }, 'url'],
    ['files of addresses', { files: ['/etc/hosts'] }, 'files'],
    ['a certificate of the machine', { url: 'https://a.example/', tls: { caPath: '/a.pem' } }, 'tls.caPath'],
    ['a password', { url: 'https://a.example/', username: 'a', password: '${env:SECRET}' }, 'password'],
  ])('switches a stored pipeline off that names %s, and takes other changes', async (_, more, key) => {
    const pipeline = { id: 'edge', engine: 'vector', group: 'west', ...more };
    await store({ 'headgate.yml': JSON.stringify({ pipelines: [pipeline] }) });
    const holder = await open();
    const [edge] = holder.get().settings.pipelines;
    expect(edge).toMatchObject({ id: 'edge', group: 'west', switchedOff: expect.stringContaining(key) });
    for (const one of ['token', 'username', 'password', 'tls', 'files']) expect(edge).not.toHaveProperty(one);
    expect(holder.status()).toMatchObject({
      state: 'ok',
      warnings: [
        { path: `pipelines[0].${key}`, message: expect.stringMatching(/; the pipeline is switched off$/) },
      ],
    });
    await holder.save(change(target(HOOK)));
    const again = settings({ pipelines: [{ ...pipeline, interval: '20s' }] });
    expect((await refusalOf(holder.save(again))).problems?.map(({ path }) => path)).toContain(
      `pipelines[0].${key}`,
    );
    await holder.save(settings({ pipelines: [{ id: 'edge', engine: 'vector', url: 'https://a.example/' }] }));
    expect(holder.get().settings.pipelines[0]).not.toHaveProperty('switchedOff');
  });

  it('takes no token of the process for a stored pipeline that pushes, which goes on with ingest tokens', async () => {
    const pushing = { id: 'edge', engine: 'rsyslog', push: true, token: '${env:SECRET}' };
    await store({ 'headgate.yml': JSON.stringify({ pipelines: [pushing] }) });
    const holder = await open();
    expect(holder.get().settings.pipelines[0]).not.toHaveProperty('token');
    expect(holder.get().settings.pipelines[0]).not.toHaveProperty('switchedOff');
    expect(holder.status()).toMatchObject({
      warnings: [{ path: 'pipelines[0].token', message: expect.stringContaining('counts as left out') }],
    });
  });

  it('sends to no private address, whatever it says', async () => {
    const inside = { ...HOOK, url: 'http://10.0.0.1/' };
    const refusal = await refusalOf((await open()).save(change(target(inside))));
    expect(refusal.problems?.[0]?.path).toBe('url');
  });
});
