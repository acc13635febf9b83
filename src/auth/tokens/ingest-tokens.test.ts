import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestClock, testClock } from '../../../test/helpers/clock.ts';
import { countingIds } from '../../../test/helpers/counting-ids.ts';
import { openTestStorage, type TestStorage } from '../../../test/helpers/storage.ts';
import { silentLogger } from '../../lib/logger.ts';
import { Secret } from '../../lib/secret.ts';
import { type IngestTokens, openIngestTokens } from './ingest-tokens.ts';

const HOUR_MS = 3_600_000;

let test: TestStorage;
let clock: TestClock;
let tokens: IngestTokens;

beforeEach(async () => {
  test = await openTestStorage();
  clock = testClock();
  tokens = await open();
});
afterEach(() => test.close());

const open = (pepper = 'pepper') =>
  openIngestTokens({
    storage: test.storage,
    workspace: 'default',
    pepper: new Secret(pepper),
    clock,
    ids: countingIds(),
    logger: silentLogger,
  });

const fresh = { pipeline: 'edge', description: '', isEnabled: true, expiresAt: null };
const make = async (facts: Partial<Parameters<IngestTokens['create']>[0]> = {}) => {
  const { secret, ...known } = await tokens.create({ ...fresh, id: 'one', ...facts });
  return { ...known, secret: secret.reveal() };
};
const rotate = async (graceMs: number) => (await tokens.rotate('one', graceMs)).secret.reveal();
const lets = (...secrets: string[]) => secrets.map(secret => tokens.pipelineOf(secret) === 'edge');

it('accepts the secret, also after a start, and keeps nothing from which it could be derived', async () => {
  const { secret } = await make();
  expect(secret).toMatch(/^hgi_/);
  expect(lets(secret)).toEqual([true]);
  expect((await open()).pipelineOf(secret)).toBe('edge');
  const rows = await test.storage.in('default').ingestTokens.list();
  expect(JSON.stringify([rows, tokens.list()])).not.toContain(secret.slice(4, 20));
  expect((await open('another pepper')).pipelineOf(secret)).toBeUndefined();
});

it('lets nobody in with one that is disabled, over, removed, mistyped or of nobody', async () => {
  const { secret } = await make({ expiresAt: clock.now() + HOUR_MS });
  await tokens.update('one', { isEnabled: false });
  expect(lets(secret)).toEqual([false]);
  await tokens.update('one', { isEnabled: true });
  expect(lets(secret)).toEqual([true]);
  await clock.advance(HOUR_MS);
  expect(lets(secret)).toEqual([false]);
  await tokens.update('one', { expiresAt: null });
  expect(lets(secret, `${secret}x`, secret.slice(0, -1), '', 'other')).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
  expect([secret, `${secret}x`, 'other'].map(text => tokens.isMalformed(text))).toEqual([false, true, false]);
  await tokens.remove('one');
  expect(lets(secret)).toEqual([false]);
});

it('takes the secret before for the time of grace beside the new one, and never three', async () => {
  const { secret: first } = await make();
  const second = await rotate(HOUR_MS);
  expect(lets(first, second)).toEqual([true, true]);
  expect(tokens.get('one').formerEndsAt).toBe(clock.now() + HOUR_MS);
  await clock.advance(HOUR_MS);
  expect(lets(first, second)).toEqual([false, true]);
  expect(tokens.get('one').formerEndsAt).toBeNull();
  const third = await rotate(HOUR_MS);
  const fourth = await rotate(HOUR_MS);
  expect(lets(second, third, fourth)).toEqual([false, true, true]);
  const fifth = await rotate(0);
  expect(lets(third, fourth, fifth)).toEqual([false, false, true]);
});

it('reads the changes of another process, in the order they were made', async () => {
  const { secret } = await make();
  const other = await open();
  const renewed = (await other.rotate('one', 0)).secret.reveal();
  expect(lets(secret, renewed)).toEqual([true, false]);
  await Promise.all([tokens.reload(), tokens.reload(), tokens.update('one', { description: 'mine' })]);
  await tokens.reload();
  expect(lets(secret, renewed)).toEqual([false, true]);
  expect(tokens.get('one').description).toBe('mine');
  await other.remove('one');
  await tokens.reload();
  expect(lets(renewed)).toEqual([false]);
  expect(tokens.list()).toEqual([]);
});

it('knows when a token was last used, and writes that once a minute and at the end', async () => {
  const { secret } = await make();
  expect(tokens.get('one').lastUsedAt).toBeNull();
  await clock.advance(1000);
  tokens.pipelineOf(secret);
  const used = clock.now();
  expect(tokens.get('one').lastUsedAt).toBe(used);
  const written = async () => (await test.storage.in('default').ingestTokens.list())[0]?.last_used_at;
  expect(await written()).toBeNull();
  await tokens.stop();
  expect(await written()).toBe(used);
  await clock.advance(1000);
  tokens.pipelineOf(`${secret}x`);
  expect(tokens.get('one').lastUsedAt).toBe(used);
});

it('refuses an id that is taken, names of nobody, and more than a thousand', async () => {
  await make();
  await expect(make()).rejects.toMatchObject({ code: 'conflict' });
  for (const work of [
    () => tokens.update('two', { isEnabled: false }),
    () => tokens.rotate('two', 0),
    () => tokens.remove('two'),
    async () => tokens.get('two'),
  ])
    await expect(work()).rejects.toMatchObject({
      code: 'not-found',
      message: "ingest token 'two' not found",
    });
  await test.storage.transaction(async tx => {
    const [row] = await test.storage.in('default').ingestTokens.list();
    if (row === undefined) throw new Error('there is no token');
    for (let count = 1; count < 1000; count++)
      await tx.in('default').addIngestToken({ ...row, id: `t${count}`, digest: `d${count}` });
  });
  await expect(make({ id: 'more' })).rejects.toMatchObject({ code: 'conflict' });
});
