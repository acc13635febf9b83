import type { MessageRow } from '../../storage/storage.ts';

/** An entry of the bulletin; its time is the family's, epoch ms. */
export const wireMessage = (row: MessageRow): object => ({
  id: row.id,
  severity: row.severity,
  title: row.title,
  text: row.text,
  time: row.time,
  ...(row.group_name !== null && { group: row.group_name }),
  ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) }),
});
