import { createMessage } from '../../resources/messages/create.ts';
import { getMessage } from '../../resources/messages/get.ts';
import { listMessages } from '../../resources/messages/list.ts';
import { removeMessage } from '../../resources/messages/remove.ts';
import { envelope, optional, single } from '../envelope.ts';
import { get, type Route, route } from '../route.ts';
import { wireMessage } from '../wire/message.ts';

export const messageRoutes: readonly Route[] = [
  get('/system/messages', 'List the bulletin, newest first', listMessages, page =>
    envelope(page, wireMessage),
  ),
  get('/system/messages/:id', 'Get an entry of the bulletin', getMessage, row => single(wireMessage(row))),
  route({
    method: 'POST',
    path: '/system/messages',
    summary: 'Add an entry to the bulletin',
    verb: createMessage,
    shape: row => single(wireMessage(row)),
  }),
  route({
    method: 'DELETE',
    path: '/system/messages/:id',
    summary: 'Clear an entry of the bulletin',
    verb: removeMessage,
    shape: row => optional(row && wireMessage(row)),
  }),
];
