import * as z from 'zod';
import { invalidField } from '../auth/users/user.ts';
import type { Configuration } from '../config/configuration.ts';
import type { Clock } from '../lib/clock.ts';
import { duration, identifier } from '../lib/schemas.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

/** As paths name tokens. */
const tokenReference = z.string().max(512);

/** Fields of a new token and of a change of one. */
const tokenFields = {
  id: identifier.optional(),
  description: z.string().max(1024).nullish().describe('For people: which sender has it.'),
  enabled: z.boolean().optional().describe('While it is false, senders that show it are refused.'),
  expiresAt: z.iso
    .datetime({ offset: true })
    .nullish()
    .describe('From when on senders that show it are refused; null for never.'),
};

/** Epoch ms; null is no time, undefined says nothing. Throws `invalid-request` for a time that has passed. */
function expiryOf(text: string | null | undefined, clock: Pick<Clock, 'now'>): number | null | undefined {
  if (text === null || text === undefined) return text;
  const time = Date.parse(text);
  if (time <= clock.now()) throw invalidField('expiresAt', 'must be later than now');
  return time;
}

/** By id, of all pipelines or of one; never a secret. */
export const listIngestTokens = defineVerb({
  permission: 'read:settings',
  input: z.object({ ...pageQuery, pipeline: z.string().max(512).optional() }),
  run({ context }, { pipeline, ...page }) {
    const all = context.ingestTokens.list();
    return listPageOf(page, pipeline === undefined ? all : all.filter(one => one.pipeline === pipeline));
  },
});

export const getIngestToken = defineVerb({
  permission: 'read:settings',
  input: z.object({ id: tokenReference }),
  run: ({ context }, { id }) => context.ingestTokens.get(id),
});

/** Answers the secret, which nobody can read again. */
export const createIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({
    body: z.strictObject({
      ...tokenFields,
      id: identifier.optional().describe('Left out, one is made.'),
      pipeline: identifier.describe('The pipeline whose metrics its sender may push.'),
    }),
  }),
  run({ context }, { body: { id, pipeline, description, enabled = true, expiresAt } }) {
    assertPushes(context.configuration(), pipeline);
    return context.ingestTokens.create({
      id,
      pipeline,
      description: description ?? '',
      isEnabled: enabled,
      expiresAt: expiryOf(expiresAt, context.clock) ?? null,
    });
  },
});

function assertPushes({ settings }: Configuration, id: string): void {
  const pipeline = settings.pipelines.find(one => one.id === id);
  if (pipeline === undefined) throw invalidField('pipeline', `'${id}' is not configured`);
  if (!pipeline.push)
    throw invalidField('pipeline', `'${id}' is read from its url; only one with push: true takes tokens`);
}

/** Omitted fields stay, null removes. */
export const updateIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({
    id: tokenReference,
    body: z.strictObject({ ...tokenFields, pipeline: z.string().optional() }),
  }),
  run({ context }, { id, body }) {
    const token = context.ingestTokens.get(id);
    for (const key of ['id', 'pipeline'] as const)
      if (body[key] !== undefined && body[key] !== token[key])
        throw invalidField(key, 'cannot be changed; make another token');
    return context.ingestTokens.update(id, {
      description: body.description === null ? '' : body.description,
      isEnabled: body.enabled,
      expiresAt: expiryOf(body.expiresAt, context.clock),
    });
  },
});

/** Answers another secret; the present one counts for a while, so that senders can change over. */
export const rotateIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({
    id: tokenReference,
    body: z
      .strictObject({
        grace: duration({ max: '7d' })
          .prefault('24h')
          .describe('How long the secret before counts beside the new one; 0s ends it at once.'),
      })
      .prefault({}),
  }),
  run: ({ context }, { id, body }) => context.ingestTokens.rotate(id, body.grace.ms),
});

/** Answers what it removed. */
export const removeIngestToken = defineVerb({
  permission: 'update:settings',
  input: z.object({ id: tokenReference }),
  run: ({ context }, { id }) => context.ingestTokens.remove(id),
});
