import { MANY } from './facts.ts';
import { FACT_NOUNS, type Fact } from './storage.ts';

export const CHANNEL = 'headgate';

/** A payload must be below 8,000 bytes (PostgreSQL manual, NOTIFY). */
const MOST_BYTES = 7_900;
const LARGEST_FACT_BYTES = 2_000;

/** The facts as payloads: a JSON list of the name of the session that tells them and `[workspace, noun, id]` for each. */
export function noticesOf(session: string, facts: readonly Fact[]): readonly string[] {
  const beginning = JSON.stringify([session]).slice(0, -1);
  const notices: string[] = [];
  let notice = beginning;
  for (const fact of facts) {
    const text = textOf(fact);
    if (Buffer.byteLength(notice) + Buffer.byteLength(text) > MOST_BYTES) {
      notices.push(`${notice}]`);
      notice = beginning;
    }
    notice += `,${text}`;
  }
  if (notice !== beginning) notices.push(`${notice}]`);
  return notices;
}

function textOf({ workspace, noun, id }: Fact): string {
  const text = JSON.stringify([workspace, noun, id]);
  return Buffer.byteLength(text) > LARGEST_FACT_BYTES ? JSON.stringify([workspace, noun, MANY]) : text;
}

/** The facts of another session's payload. What another version or program says beside it is passed over. */
export function factsIn(payload: string, session: string): readonly Fact[] {
  const told = listIn(payload);
  return told[0] === session ? [] : told.slice(1).flatMap(factIn);
}

function listIn(payload: string): readonly unknown[] {
  try {
    const told: unknown = JSON.parse(payload);
    return Array.isArray(told) ? told : [];
  } catch {
    return [];
  }
}

function factIn(told: unknown): Fact[] {
  if (!Array.isArray(told)) return [];
  const [workspace, word, id]: unknown[] = told;
  const noun = FACT_NOUNS.find(known => known === word);
  if (noun === undefined || typeof workspace !== 'string' || typeof id !== 'string') return [];
  return [{ workspace, noun, id }];
}
