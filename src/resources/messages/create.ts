import * as z from 'zod';
import { SEVERITIES } from '../../events/event.ts';
import { identifier } from '../../lib/schemas.ts';
import type { MessageRow } from '../../storage/storage.ts';
import { defineVerb } from '../verb.ts';

/** Clients of the family send seconds or milliseconds; seconds stay below this until the year 5138. */
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
  async run({ house }, { body: message }): Promise<MessageRow> {
    const { id, text, title, severity, group, metadata } = message;
    const row = {
      id,
      severity,
      title,
      text,
      time: message.time === undefined ? house.clock.now() : epochMs(message.time),
      group_name: group ?? null,
      metadata: metadata === undefined ? null : JSON.stringify(metadata),
    };
    await house.transaction(tx => tx.addMessage(row));
    return row;
  },
});

const epochMs = (time: number): number => Math.round(time < FIRST_MS ? time * 1000 : time);
