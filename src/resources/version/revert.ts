import * as z from 'zod';
import { FILES, type FileName } from '../../config/load.ts';
import { unmaskedTexts } from '../../config/unmask-texts.ts';
import { defineVerb } from '../verb.ts';
import { rowOf, textsOf, versionOf } from './version.ts';

/**
 * Makes the files read as they did in a version, with the secrets that are stored now. Files that were not there then
 * become empty. Throws `not-found`, and `unprocessable` naming each secret that nothing is stored for any more.
 */
export const revertVersion = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z.object({
      commit: z.string().min(1).max(64),
      message: z.string().max(4096).optional(),
      force: z.boolean().optional(),
    }),
  }),
  async run({ actor, house }, { body: { commit, message } }) {
    const { versions } = house.stores;
    const row = await rowOf(versions, commit);
    const before = await rowOf(versions, undefined);
    const then = textsOf(row);
    await house.save({
      author: actor.name,
      door: 'api',
      message: message ?? `back to ${row.id}`,
      texts(now) {
        const texts: Partial<Record<FileName, string>> = unmaskedTexts(then, now.raw);
        for (const name of FILES) texts[name] ??= '';
        return texts;
      },
    });
    const version = await versionOf(versions, undefined);
    return { version, reverted: version.facts.id !== before.id };
  },
});
