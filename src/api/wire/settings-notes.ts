import * as z from 'zod';
import { isMap } from '../../config/plain.ts';
import { AppError, type Problem } from '../../lib/errors.ts';

const note = z.object({
  path: z.string().describe('Of the setting, as in `api.port`.'),
  message: z.string().describe('For a person.'),
});

/** What is said beside settings: which wait for a restart, and which the file does not decide. */
export const noted = {
  headgate: z
    .object({
      notes: z.array(note).describe('Settings that are in force otherwise than the file says, and why.'),
    })
    .describe('May be sent back and is ignored.'),
};

export const wireNotes = (notes: readonly Problem[]): object => ({ headgate: { notes } });

/** A body without what is said beside settings, which no write means. */
export function withoutNotes(body: unknown): unknown {
  if (!isMap(body)) return body;
  const { headgate: _, ...settings } = body;
  return settings;
}

/** Refuses a change of what is only answered because clients of the family ask for it. */
export function unchangeable(path: string): AppError {
  const message = 'is answered for other programs and cannot be changed on this server';
  return new AppError('invalid-request', `${path}: ${message}`, { problems: [{ path, message }] });
}
