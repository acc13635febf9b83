import type { QueryResult } from 'pg';
import { describe, expect, it } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { AppError, reasonOf } from '../../lib/errors.ts';
import { createWriterConnection } from './connections.ts';
import type { PostgresSession } from './session.ts';

type Answer = { readonly command?: string; readonly status?: string | null } | Error;

const result = ({ command = 'SELECT', status }: Exclude<Answer, Error>): QueryResult => ({
  command,
  rowCount: 1,
  oid: 0,
  fields: [],
  rows: status === undefined ? [] : [{ status }],
});

/** Answers in order, and is over once an answer is a failure. */
function session(...answers: readonly Answer[]): PostgresSession & { readonly asked: string[] } {
  const asked: string[] = [];
  let over = false;
  return {
    asked,
    async query({ text }) {
      const answer = answers[asked.length];
      asked.push(text);
      if (answer instanceof Error) {
        over = true;
        throw answer;
      }
      return result(answer ?? {});
    },
    isBroken: () => over,
    end: async () => {
      over = true;
    },
  };
}

function linkTo(...opened: readonly (PostgresSession | Error)[]) {
  const clock = testClock();
  let openings = 0;
  const link = createWriterConnection({
    clock,
    explain: error => new AppError('unavailable', `explained: ${reasonOf(error)}`),
    async open() {
      const next = opened[Math.min(openings++, opened.length - 1)];
      if (next === undefined || next instanceof Error) throw next ?? new Error('there is none');
      return next;
    },
  });
  return { clock, link, openings: () => openings };
}

const LOST = new Error('the line is cut');

describe('the link to a server', () => {
  it('keeps its session, and opens another once that is over', async () => {
    const first = session(LOST);
    const second = session();
    const { link } = linkTo(first, second);
    expect(await link.session()).toBe(first);
    expect(await link.session()).toBe(first);
    await first.query({ text: 'select 1' }).catch(() => {});
    expect(await link.session()).toBe(second);
  });

  it('does not storm a server that is away: it waits longer after each failure, up to 5 s', async () => {
    const { clock, link, openings } = linkTo(LOST);
    const ask = () => expect(link.session()).rejects.toThrow('explained: the line is cut');
    await ask();
    await ask();
    expect(openings()).toBe(1);
    await clock.advance(100);
    await ask();
    await clock.advance(100);
    await ask();
    expect(openings()).toBe(2);
    for (let count = 0; count < 20; count++) {
      await clock.advance(5000);
      await ask();
    }
    expect(openings()).toBe(22);
    await clock.advance(4999);
    await ask();
    expect(openings()).toBe(22);
  });

  it('opens none once it is closed', async () => {
    const { link } = linkTo(session());
    await link.session();
    await link.close();
    await expect(link.session()).rejects.toThrow('the storage is closed');
  });
});

describe('a commit whose answer is lost', () => {
  async function commit(...after: readonly (PostgresSession | Error)[]) {
    const at = session(LOST);
    const { clock, link } = linkTo(at, ...after);
    const committed = link.commit(await link.session(), '77');
    return { clock, committed };
  }

  it('went well when the server says so', async () => {
    const asked = session({ status: 'committed' });
    const { committed } = await commit(asked);
    await committed;
    expect(asked.asked).toEqual(['select txid_status($1::bigint) as status']);
  });

  it('failed when the server says so', async () => {
    const { committed } = await commit(session({ status: 'aborted' }));
    await expect(committed).rejects.toBe(LOST);
  });

  it('has its status polled until the server is back and has decided', async () => {
    const { clock, committed } = await commit(
      LOST,
      session({ status: 'in progress' }, { status: 'committed' }),
    );
    await clock.advance(2000);
    await committed;
  });

  it.each([
    ['does not come back', LOST],
    ['does not know any more', session({ status: null })],
  ])('is said to be unknown when the server %s', async (_what, after) => {
    const { clock, committed } = await commit(after);
    const refused = expect(committed).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('does not say whether it was written'),
    });
    await clock.advance(11_000);
    await refused;
  });

  it('is none when the server had rolled back already', async () => {
    const at = session({ command: 'ROLLBACK' });
    const { link } = linkTo(at);
    await expect(link.commit(await link.session(), '77')).rejects.toThrow(/rolled a change back midway/);
  });
});
