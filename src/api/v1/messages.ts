import * as z from 'zod';
import { createMessage, getMessage, listMessages, removeMessage } from '../../resources/messages.ts';
import type { MessageRow } from '../../storage/stores/messages.ts';
import { item, list, optional } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const message = z.object({
  id: z.string(),
  severity: z.string(),
  title: z.string(),
  text: z.string(),
  time: z.number().describe('Epoch ms.'),
  group: z.string().optional(),
  metadata: z.array(z.record(z.string(), z.unknown())).optional(),
});
const messageShape: Shape = { name: 'Message', schema: message };

/** An entry of the bulletin; its time is in epoch ms, as in Cribl's API. */
export const wireMessage = (row: MessageRow): z.output<typeof message> => ({
  id: row.id,
  severity: row.severity,
  title: row.title,
  text: row.text,
  time: row.time,
  ...(row.group_name !== null && { group: row.group_name }),
  ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) }),
});

const PATH = '/system/messages';

export const messageRoutes: readonly Route[] = [
  route({
    id: 'messages.list',
    grouped: 'alike',
    isLive: false,
    method: 'GET',
    path: PATH,
    summary: 'List the bulletin, newest first',
    verb: listMessages,
    answer: list(messageShape, wireMessage),
  }),
  route({
    id: 'messages.get',
    grouped: 'alike',
    isLive: false,
    method: 'GET',
    path: `${PATH}/:id`,
    summary: 'Get an entry of the bulletin',
    verb: getMessage,
    answer: item(messageShape, wireMessage),
    example: { params: { id: 'app_silent' } },
  }),
  route({
    id: 'messages.create',
    grouped: 'alike',
    isLive: false,
    method: 'POST',
    path: PATH,
    summary: 'Add an entry to the bulletin, each id once',
    verb: createMessage,
    takes: { shape: { name: 'NewMessage' } },
    answer: item(messageShape, wireMessage),
    errors: ['conflict'],
    example: { body: { id: 'upgrade', text: 'The collectors are restarted at noon.', severity: 'info' } },
  }),
  route({
    id: 'messages.remove',
    grouped: 'alike',
    isLive: false,
    method: 'DELETE',
    path: `${PATH}/:id`,
    summary: 'Clear an entry of the bulletin; no items when there was none',
    verb: removeMessage,
    answer: optional(messageShape, wireMessage),
    example: { params: { id: 'upgrade' } },
  }),
];
