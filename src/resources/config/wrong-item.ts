import * as z from 'zod';
import { problemsOf } from '../../config/issues.ts';
import type { PlainMap } from '../../config/plain.ts';
import { formatPath } from '../../config/problems.ts';
import { AppError, type Problem } from '../../lib/errors.ts';
import type { Noun } from './noun.ts';

/** A body stands in no file. */
const origin = {
  place: (path: readonly PropertyKey[]) => ({ file: '', path: formatPath(path), line: 0, column: 0 }),
  keyPlace: (path: readonly PropertyKey[]) => ({ file: '', path: formatPath(path), line: 0, column: 0 }),
  reference: () => undefined,
};

/** What to refuse an item with whose id is none: with that, and with everything else that is wrong with it. */
export function wrongItem(noun: Noun, item: PlainMap, idMessage: string): AppError {
  const problems = [{ path: 'id', message: idMessage }, ...others(noun, item)];
  return new AppError('invalid-request', `id: ${idMessage}`, { problems });
}

function others(noun: Noun, item: PlainMap): Problem[] {
  const schema = noun.schema(item);
  // Without a type nothing is known of the rest.
  if (schema === undefined) return [{ path: 'type', message: 'is required, and must be one there is' }];
  const { error } = z.safeParse(schema, item);
  if (error === undefined) return [];
  return problemsOf(error, { schema, value: item, origin })
    .filter(({ path }) => path !== 'id')
    .map(({ path, message }) => ({ path, message }));
}
