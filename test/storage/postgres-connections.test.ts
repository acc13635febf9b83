import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresView } from '../../src/storage/postgres/view.ts';
import { type Authority, certificateAuthority } from '../helpers/certificates.ts';
import { type PgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts';
import { until } from '../helpers/until.ts';
import { useOwnPostgres } from './own-postgres.ts';
import { incidentRow, transition } from './rows.ts';

const own = useOwnPostgres('connections');
const { open, undo } = own;
let authority: Authority;
const undoAtEnd: (() => void)[] = [];
/** Of the whole file: the client warns once in a process. */
const warnings: string[] = [];
process.on('warning', ({ message }) => warnings.push(message));

beforeAll(() => {
  authority = certificateAuthority('ours', remove => undoAtEnd.push(remove));
  own.server.encrypt(authority.issue('database'));
  // The certificate is for the first of these addresses.
  own.server.configure("listen_addresses = '127.0.0.1, 127.0.0.2'");
  own.server.stop('fast');
  own.server.start();
});
afterAll(() => {
  for (const step of undoAtEnd) step();
});

/** What the server answers to a query of another session of the database. */
async function ask(text: string): Promise<unknown> {
  const client = new Client(own.database.url);
  await client.connect();
  try {
    return Object.values((await client.query(text)).rows[0])[0];
  } finally {
    await client.end();
  }
}

const others = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
const connections = async (): Promise<number> => Number(await ask(`select count(*) ${others}`));

describe('a pooler between', () => {
  async function bouncer(mode: 'session' | 'transaction' | 'statement'): Promise<PgBouncer> {
    const started = await startPgBouncer(own.server, mode);
    undo.push(started.remove);
    return started;
  }

  it.each(['transaction', 'statement'] as const)(
    'that pools by the %s is named with the remedy, before anything is locked or set',
    async mode => {
      const url = (await bouncer(mode)).url(own.database.name);
      const opening = open(url);
      await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
      await expect(opening).rejects.toThrow(
        /^database '.*' at 127\.0\.0\.1:\d+ is behind a pooler that pools transactions.*pool_mode=session.*the server itself/,
      );
      await expect(openPostgresView(url)).rejects.toThrow(/pools transactions/);
      const pooled = new Client(url);
      await pooled.connect();
      undo.push(() => pooled.end());
      const { rows } = await pooled.query(
        "select current_setting('default_transaction_read_only') as readonly, current_setting('statement_timeout') as timeout",
      );
      expect(rows).toEqual([{ readonly: 'off', timeout: '0' }]);
      expect(await ask("select count(*) from pg_locks where locktype = 'advisory'")).toBe('0');
      expect(await ask("select count(*) from pg_tables where schemaname = 'public'")).toBe('0');
    },
  );

  it('is found out also where two of its sessions are lent in turn', async () => {
    const started = await startPgBouncer(own.server, 'transaction', 'server_round_robin = 1');
    undo.push(started.remove);
    const url = started.url(own.database.name);
    const pair = [new Client(url), new Client(url)];
    for (const client of pair) await client.connect();
    await Promise.all(pair.map(client => client.query('select pg_sleep(0.1)')));
    await expect(open(url)).rejects.toThrow(/pools transactions/);
    for (const client of pair) await client.end();
  });

  it('that pools sessions is none: what is written is read, and other processes hear of it', async () => {
    const url = (await bouncer('session')).url(own.database.name);
    const [one, other] = [await open(url), await open(url)];
    const heard: string[] = [];
    other.subscribe(({ resource }) => heard.push(resource));
    await until(() => heard.length > 0, 'the listening');
    heard.length = 0;
    await one.commit(transition(incidentRow({ subject: 'pooled' })));
    await one.transaction(tx => tx.setInstanceValue('some', 'thing'));
    await until(() => heard.includes('incidents'), 'the change');
    expect((await other.in('default').incidents.open()).map(({ subject }) => subject)).toEqual(['pooled']);
    const lease = await one.leases.take('engine:default', 'one', 60_000);
    expect(await other.leases.take('engine:default', 'other', 60_000)).toBeUndefined();
    expect(await other.leases.holder('engine:default')).toEqual(lease);
  });
});

it('a process has no more connections than the guide says', async () => {
  const storage = await open();
  storage.subscribe(() => {});
  await storage.leases.take('engine:default', 'one', 60_000);
  await storage.commit(transition(incidentRow({ subject: 'some' })));
  await Promise.all(Array.from({ length: 50 }, () => storage.users.count()));
  await until(async () => (await connections()) === 9, 'the listening connection and six that read');
  const guide = await readFile('docs/guide/several-processes.md', 'utf8');
  expect(guide).toContain('at most 9 connections');
});

describe('sslmode', () => {
  const withMode = (options: string, host = '127.0.0.1'): string =>
    `${own.database.url.replace('127.0.0.1', host)}?${options}`;
  const isEncrypted = (): Promise<unknown> =>
    ask(`select bool_and(ssl) from pg_stat_ssl where pid in (select pid ${others})`);
  const root = (): string => `sslrootcert=${encodeURIComponent(authority.cert)}`;

  it.each<[string, () => string]>([
    ['require, whoever has signed the certificate', () => withMode('sslmode=require')],
    ['require, whatever host the certificate is for', () => withMode('sslmode=require', '127.0.0.2')],
    ['verify-ca', () => withMode(`sslmode=verify-ca&${root()}`)],
    [
      'verify-ca, whatever host the certificate is for',
      () => withMode(`sslmode=verify-ca&${root()}`, '127.0.0.2'),
    ],
    ['require with an authority', () => withMode(`sslmode=require&${root()}`, '127.0.0.2')],
    ['verify-full', () => withMode(`sslmode=verify-full&${root()}`)],
    ['an authority alone, which is as verify-full', () => withMode(root())],
  ])('encrypts with %s', async (_what, url) => {
    await open(url());
    expect(await isEncrypted()).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['disable', 'sslmode=disable'],
  ])('encrypts nothing with %s', async (_what, options) => {
    await open(withMode(options));
    expect(await isEncrypted()).toBe(false);
  });

  it.each<[string, () => string, RegExp]>([
    [
      'verify-full and another host',
      () => withMode(`sslmode=verify-full&${root()}`, '127.0.0.2'),
      /certificate for another host/,
    ],
    [
      'verify-full and an authority nobody knows',
      () => withMode('sslmode=verify-full'),
      /certificate that is not trusted.*sslrootcert/,
    ],
  ])('refuses %s, naming place and remedy', async (_what, url, text) => {
    await expect(open(url())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(text),
    });
  });

  it('refuses the certificate of another authority where one is named', async () => {
    const foreign = certificateAuthority('foreign');
    for (const mode of ['require', 'verify-ca', 'verify-full'])
      await expect(
        open(withMode(`sslmode=${mode}&sslrootcert=${encodeURIComponent(foreign.cert)}`)),
      ).rejects.toThrow(/certificate that is not trusted/);
  });

  it.each([
    ['allow', /unencrypted unnoticed; write one of disable, require, verify-ca, verify-full/],
    ['prefer', /unencrypted unnoticed/],
    ['no-verify', /must have one of disable, require, verify-ca, verify-full/],
    ['verify-ca', /name the file of the authority by sslrootcert/],
  ])('refuses %s, showing no password', async (mode, text) => {
    const refused = open(withMode(`sslmode=${mode}`).replace('postgres@', 'postgres:hunter2@'));
    await expect(refused).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringMatching(text),
    });
    await expect(refused).rejects.not.toThrow(/hunter2/);
  });

  it('leaves no warning on standard error, where the log is', async () => {
    await (await open(withMode('sslmode=require'))).users.count();
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
  });
});
