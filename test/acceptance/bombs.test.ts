import { expect, it } from 'vitest';
import { ingestOperations } from '../../src/api/ingest/ingest.ts';
import { FILES } from '../../src/config/configuration.ts';
import { PUSH_BOMBS } from '../helpers/bombs/pushes.ts';
import { TEXT_BOMBS } from '../helpers/bombs/texts.ts';
import { BOMB_ENVIRONMENT, BOMB_FILES, bombarded } from './bombarded.ts';
import { installation, serve } from './harness.ts';

/** For so long (ms of processor time) nobody else is answered at most. */
const MOST_STALL_MS = 200;
/** What one bomb may add to the resident memory. */
const MOST_GROWTH_MB = 100;
/** Of the whole process, over all bombs: each must leave nothing behind. */
const MOST_MB = 450;

/** Every way to push, by operation and type of its body. */
const WAYS = ingestOperations.flatMap(({ id, body }) => {
  if (body === undefined) return [];
  const types = body.kind === 'text' ? (body.types ?? ['text/plain']) : ['application/json'];
  return types.map(type => `${id} ${type}`);
});

it('has a bomb for every way to push, each packed where it may be, and for every file', () => {
  const ways = (bombs: typeof PUSH_BOMBS): string[] => [
    ...new Set(bombs.map(({ operation, type }) => `${operation} ${type}`)),
  ];
  expect(ways(PUSH_BOMBS).sort()).toEqual([...WAYS].sort());
  // Remote write is packed with Snappy, and with nothing else.
  expect(ways(PUSH_BOMBS.filter(({ encoding }) => encoding === 'gzip')).sort()).toEqual(
    WAYS.filter(way => !way.startsWith('ingest.remoteWrite')).sort(),
  );
  expect(new Set(TEXT_BOMBS.map(({ file }) => file))).toEqual(new Set(FILES));
});

it('refuses every bomb, names the bound, and neither stops nor grows by much', {
  timeout: 600_000,
}, async () => {
  const server = await serve({ ...installation(BOMB_FILES), environment: BOMB_ENVIRONMENT });
  const send = await bombarded(
    server,
    operation => ingestOperations.find(({ id }) => id === operation)?.path ?? '',
  );
  const over: string[] = [];
  for (const bomb of [...PUSH_BOMBS, ...TEXT_BOMBS]) {
    const name = `${'operation' in bomb ? bomb.operation : bomb.file}: ${bomb.what}`;
    const { status, text, growthMb, peakMb, ...first } = await send(bomb);
    // What a bomb costs comes again; what a busy machine adds to it does not.
    const again = first.stallMs > MOST_STALL_MS ? await send(bomb) : first;
    const stallMs = Math.min(first.stallMs, again.stallMs);
    const isPush = 'operation' in bomb;
    expect(
      isPush ? (bomb.error === undefined ? [200] : [400, 413, 422]) : [200, 400],
      `${name}: ${text.slice(0, 300)}`,
    ).toContain(status);
    if (bomb.error !== undefined) expect(text, name).toMatch(bomb.error);
    expect(text.length, name).toBeLessThan(128 * 1024);
    if (stallMs > MOST_STALL_MS) over.push(`${name}: others waited for ${Math.round(stallMs)} ms`);
    expect(peakMb, name).toBeLessThan(MOST_MB);
    if (growthMb > MOST_GROWTH_MB) over.push(`${name}: ${Math.round(growthMb)} MB more`);
  }
  expect(over).toEqual([]);
});
