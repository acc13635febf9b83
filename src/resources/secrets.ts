import * as z from 'zod';
import { assertUnused } from '../config/secrets/references.ts';
import type { SecretMetadata } from '../config/secrets/store.ts';
import { notFound } from '../lib/errors.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

/** Names and times by name, never values. */
export const listSecrets = defineVerb({
  permission: 'read:settings',
  input: z.object(pageQuery),
  run: ({ context }, query) => listPageOf(query, context.secrets.list()),
});

/** Its name and times, never its value. */
export const getSecret = defineVerb({
  permission: 'read:settings',
  input: z.object({ name: z.string().max(512) }),
  run({ context }, { name }): SecretMetadata {
    const metadata = context.secrets.list().find(one => one.name === name);
    if (metadata === undefined) throw notFound('secret', name);
    return metadata;
  },
});

/** Adds or replaces. The configuration that refers to it is loaded again before this resolves. */
export const putSecret = defineVerb({
  permission: 'update:settings',
  input: z.object({ name: z.string(), body: z.strictObject({ value: z.string() }) }),
  run: ({ actor, context }, { name, body }) => context.secrets.put(name, body.value, actor.name),
});

/** Answers what it removed. Refused with `conflict` while the configuration refers to it. */
export const removeSecret = defineVerb({
  permission: 'update:settings',
  input: z.object({ name: z.string().max(512) }),
  async run({ context }, { name }): Promise<SecretMetadata> {
    assertUnused(context.configuration().raw, name);
    const removed = await context.secrets.remove(name);
    if (removed === undefined) throw notFound('secret', name);
    return removed;
  },
});
