import * as z from 'zod';
import { plainCopy } from '../../config/plain.ts';
import { settingsSchema } from '../../config/settings.ts';
import { asInFile } from '../config/as-in-file.ts';
import { itemBody } from '../config/item-body.ts';
import { mergePatch } from '../config/merge.ts';
import { withStoredSecrets } from '../config/stored-secrets.ts';
import { assertMatches } from '../etag.ts';
import { defineVerb } from '../verb.ts';

/** Replaces the sections the body has, each as a whole; null takes one back to its defaults. */
export const updateSettings = defineVerb({
  permission: 'update:settings',
  input: z.object({ body: itemBody, ifMatch: z.string().optional() }),
  async run(call, { body, ifMatch }) {
    const { actor, house } = call;
    const { settings } = await house.save({
      author: actor.name,
      door: 'api',
      edits(now) {
        const before = { inFile: now.raw.settings, inForce: plainCopy(now.settings) };
        assertMatches(ifMatch, now.settings);
        const sections = mergePatch({}, body);
        const kept = Object.entries(before.inForce).filter(([section]) => !Object.hasOwn(body, section));
        const { value, secrets } = withStoredSecrets(call, {
          schema: settingsSchema,
          owner: 'settings',
          item: { ...Object.fromEntries(kept), ...sections },
          present: before,
        });
        return [{ section: 'settings', id: '', value: asInFile(settingsSchema, value, before), secrets }];
      },
    });
    return settings;
  },
});
