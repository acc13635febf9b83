import * as z from 'zod';
import { SEVERITIES } from '../events/event.ts';
import { notFound } from '../lib/errors.ts';
import { identifier } from '../lib/schemas.ts';
import type { MessageRow } from '../storage/stores/messages.ts';
import { pageQuery, pageRequest, toListPage } from './paging.ts';
import { defineVerb } from './verb.ts';

export const listMessages = defineVerb({
  permission: 'read:messages',
  input: z.object(pageQuery),
  async run({ context }, query) {
    return toListPage(query, await context.stores.messages.list(pageRequest(query)), row => row);
  },
});

export const getMessage = defineVerb({
  permission: 'read:messages',
  input: z.object({ id: z.string().max(512) }),
  async run({ context }, { id }) {
    const message = await context.stores.messages.get(id);
    if (message === undefined) throw notFound('message', id);
    return message;
  },
});

/** Cribl-compatible clients send seconds or milliseconds; seconds stay below this until the year 5138. */
const FIRST_MS = 100_000_000_000;

const body = z.strictObject({
  id: identifier,
  text: z.string().min(1).max(65_536),
  title: z.string().max(1024).default('Message'),
  severity: z.enum(SEVERITIES).default('info'),
  time: z.number().min(0).max(8_640_000_000_000_000).optional(),
  group: identifier.optional(),
  metadata: z.array(z.record(z.string(), z.unknown())).max(100).optional(),
});

/** Writes an entry of the bulletin, once: refused with `conflict` when its id is known. */
export const createMessage = defineVerb({
  permission: 'update:messages',
  input: z.object({ body }),
  async run({ context }, { body: message }): Promise<MessageRow> {
    const { id, text, title, severity, group, metadata } = message;
    const row = {
      id,
      severity,
      title,
      text,
      time: message.time === undefined ? context.clock.now() : epochMs(message.time),
      group_name: group ?? null,
      metadata: metadata === undefined ? null : JSON.stringify(metadata),
    };
    await context.transaction(tx => tx.addMessage(row));
    return row;
  },
});

const epochMs = (time: number): number => Math.round(time < FIRST_MS ? time * 1000 : time);

/** Answers what it removed; undefined when there was none, which is no error: somebody else cleared it. */
export const removeMessage = defineVerb({
  permission: 'update:messages',
  input: z.object({ id: z.string().max(512) }),
  run: ({ context }, { id }): Promise<MessageRow | undefined> =>
    context.transaction(tx => tx.removeMessage(id)),
});
