import * as z from 'zod';
import { AppError, type Problem } from '../../lib/errors.ts';
import { itemBody } from '../config/item-body.ts';
import { defineVerb } from '../verb.ts';
import { changeSettings } from './change.ts';
import { viewAuthSettings } from './view.ts';

/** Merges the body into the section `auth`, as a change of all settings does. */
export const updateAuthSettings = defineVerb({
  permission: 'update:settings',
  input: z.object({ body: itemBody, ifMatch: z.string().optional() }),
  run: (call, { body, ifMatch }) =>
    changeSettings(call, { patch: { auth: body }, ifMatch, view: viewAuthSettings }).catch(asSent),
});

/** The sender knows the paths of the body, which are those below `auth`. */
function asSent(error: unknown): never {
  if (!(error instanceof AppError) || error.problems === undefined) throw error;
  const within = ({ path, message }: Problem): Problem => ({ path: withoutSection(path), message });
  throw new AppError(error.code, withoutSection(error.message), {
    problems: error.problems.map(within),
    cause: error,
  });
}

const withoutSection = (path: string): string => path.replace(/^auth\./, '');
