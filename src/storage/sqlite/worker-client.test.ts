import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { type Logger, silentLogger } from '../../lib/logger.ts';
import { startWorkers, type Workers } from './worker-client.ts';

/** Lives until a request to roll back, and answers nothing but `close`. */
const FRAGILE = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id, request }) => {
    if (request.kind === 'rollback') throw new Error('out of luck');
    if (request.kind === 'close') parentPort.postMessage({ id, failure: null, rows: [], changes: 0, refusals: [] });
  });
`;

interface Started {
  readonly workers: Workers;
  readonly logged: string[];
}

function start(script: string): Started {
  const logged: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) => logged.push(`${message} ${fields.reason}`),
  };
  const workers = startWorkers({
    script: new URL(`data:text/javascript,${encodeURIComponent(script)}`),
    file: '/data/headgate.db',
    explain: ({ message }) => new AppError('internal', message),
    logger,
  });
  return { workers, logged };
}

const QUERY = { kind: 'query', sql: 'select 1', parameters: [] } as const;

describe('a storage worker that dies', () => {
  it('rejects what is pending and all that comes later, on both workers, and is logged once', async () => {
    const { workers, logged } = start(FRAGILE);
    const pending = [workers.writerClient.call(QUERY), workers.readerClient.call(QUERY)];
    const settled = Promise.allSettled([...pending, workers.writerClient.call({ kind: 'rollback' })]);
    for (const outcome of await settled) expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });

    await expect(workers.writerClient.call(QUERY)).rejects.toThrow(
      /'\/data\/headgate\.db' has died; restart headgate/,
    );
    await expect(workers.readerClient.call(QUERY)).rejects.toMatchObject({ code: 'unavailable' });
    await workers.close();
    expect(logged).toEqual(['A storage worker has died; restart headgate. out of luck']);
  });

  it('counts as dead when it merely ends', async () => {
    const { workers, logged } = start('');
    await expect(workers.writerClient.call(QUERY)).rejects.toMatchObject({ code: 'unavailable' });
    await workers.close();
    expect(logged).toHaveLength(1);
  });
});

it('ends both workers when it is closed, which is no death', async () => {
  const { workers, logged } = start(FRAGILE);
  await workers.close();
  await expect(workers.readerClient.call(QUERY)).rejects.toThrow('the storage is closed');
  expect(logged).toEqual([]);
});
