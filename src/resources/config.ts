import * as z from 'zod';
import { grantsOf } from '../auth/actor.ts';
import { FILES, type FileTexts, NOTIFICATIONS_FILE } from '../config/configuration.ts';
import type { Call } from './context.ts';
import { textsFor } from './shown-addresses.ts';
import { unmatchedPatterns } from './unmatched-patterns.ts';
import { defineVerb } from './verb.ts';

/** Texts of files by name; files that are not named count as they are active. */
const fileTextsSchema = z.partialRecord(z.enum(FILES), z.string(), {
  error: issue =>
    issue.code === 'invalid_type'
      ? `must map names of files (${FILES.join(', ')}) to their texts`
      : undefined,
});

export const getConfigStatus = defineVerb({
  permission: 'read:notifications',
  input: z.object({}),
  run({ context }) {
    const status = context.configurationStatus();
    const text = context.configurationTexts()[NOTIFICATIONS_FILE] ?? '';
    return { ...status, warnings: [...status.warnings, ...unmatchedPatterns(context, text)] };
  },
});

/** Says of a text that is being edited what `headgate check` would say of the file. Changes nothing. */
export const checkConfig = defineVerb({
  permission: 'read:notifications',
  input: z.object({ body: z.strictObject({ files: fileTextsSchema }) }),
  async run({ context }, { body }) {
    const found = await context.checkTexts(body.files);
    const text = body.files[NOTIFICATIONS_FILE] ?? context.configurationTexts()[NOTIFICATIONS_FILE] ?? '';
    return { ...found, warnings: [...found.warnings, ...unmatchedPatterns(context, text)] };
  },
});

/**
 * The texts of the active configuration, by the names of their files; secrets that stand in them are masked, and addresses
 * in part where the caller may not change what has them.
 */
export const exportConfig = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run: call => activeTextsFor(call),
});

/**
 * Puts texts in the place of those of their names, masked secrets standing for what is there now; what is not named
 * stays. All of it takes effect or nothing. Throws as `context.save` does.
 */
export const importConfig = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z.strictObject({ files: fileTextsSchema, message: z.string().max(4096).optional() }),
  }),
  async run(call, { body: { files, message } }) {
    const { actor, context } = call;
    await context.save({
      author: actor.name,
      source: 'api',
      ...(message !== undefined && { message }),
      sent: { texts: files, mayRefer: grantsOf(actor).has('update:settings') },
    });
    return activeTextsFor(call);
  },
});

async function activeTextsFor(call: Call): Promise<FileTexts> {
  const [texts = {}] = await textsFor(call, [call.context.configurationTexts()]);
  return texts;
}
