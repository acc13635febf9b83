import * as z from 'zod';
import type { MessageRow } from '../../storage/storage.ts';
import type { Shape } from '../shape.ts';

const message = z.object({
  id: z.string(),
  severity: z.string(),
  title: z.string(),
  text: z.string(),
  time: z.number().describe('Epoch ms.'),
  group: z.string().optional(),
  metadata: z.array(z.record(z.string(), z.unknown())).optional(),
});
export const messageShape: Shape = { name: 'Message', schema: message };

/** An entry of the bulletin; its time is the family's, epoch ms. */
export const wireMessage = (row: MessageRow): z.output<typeof message> => ({
  id: row.id,
  severity: row.severity,
  title: row.title,
  text: row.text,
  time: row.time,
  ...(row.group_name !== null && { group: row.group_name }),
  ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) }),
});
