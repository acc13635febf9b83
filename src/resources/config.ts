import * as z from 'zod';
import { type Actor, grantsOf } from '../auth/actor.ts';
import type { ConfigurationPlan, PlannedConfiguration, WantedConfiguration } from '../config/change.ts';
import { FILES, type FileTexts, NOTIFICATIONS_FILE } from '../config/configuration.ts';
import type { Call } from './context.ts';
import { assertMatches, etagOf } from './etag.ts';
import { sectionsHiddenFrom, textsFor } from './shown-addresses.ts';
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

/** Reads of all texts together. */
const wantedBody = {
  documents: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(1024).describe('Names it in errors, such as the path of a file.'),
        text: z.string().describe('YAML or JSON.'),
      }),
    )
    .min(1)
    .max(1000),
  prune: z
    .boolean()
    .default(false)
    .describe('Remove what the sections named in the texts hold and the texts do not.'),
};

/** A plan, with the tag by which it is applied. */
export interface TaggedPlan extends ConfigurationPlan {
  readonly etag: string;
}

const tagged = ({ plan, base }: PlannedConfiguration): TaggedPlan => ({
  ...plan,
  etag: etagOf({ plan, base }),
});

const wantedBy = (actor: Actor, body: Pick<WantedConfiguration, 'documents' | 'prune'>) => ({
  documents: body.documents,
  prune: body.prune,
  mayRefer: grantsOf(actor).has('update:settings'),
  hidden: sectionsHiddenFrom(actor),
});

/**
 * What would change if items and settings were as texts say. Changes nothing. Throws as `context.save` does, but lists
 * secrets that would have to be sent anew.
 */
export const planConfig = defineVerb({
  permission: 'read:settings',
  input: z.object({ body: z.strictObject(wantedBody) }),
  run: async ({ actor, context }, { body }) =>
    tagged(await context.planConfiguration({ ...wantedBy(actor, body), isPlanOnly: true })),
});

/**
 * Makes items and settings what texts say, all of it or nothing, in one version. Answers what changed. Throws
 * `precondition-failed` when that is another plan than the one of the tag, and as `context.save` does.
 */
export const applyConfig = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z.strictObject({ ...wantedBody, message: z.string().max(4096).optional() }),
    ifMatch: z.string().optional(),
  }),
  async run({ actor, context }, { body, ifMatch }) {
    let applied: TaggedPlan | undefined;
    await context.save({
      author: actor.name,
      source: 'api',
      ...(body.message !== undefined && { message: body.message }),
      wanted: { ...wantedBy(actor, body), isPlanOnly: false },
      onPlanned(found) {
        assertMatches(ifMatch, found);
        applied = tagged(found);
      },
    });
    if (applied === undefined) throw new Error('a configuration was applied without a plan');
    return applied;
  },
});

async function activeTextsFor(call: Call): Promise<FileTexts> {
  const [texts = {}] = await textsFor(call, [call.context.configurationTexts()]);
  return texts;
}
