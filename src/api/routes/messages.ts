import { createMessage } from '../../resources/messages/create.ts';
import { getMessage } from '../../resources/messages/get.ts';
import { listMessages } from '../../resources/messages/list.ts';
import { removeMessage } from '../../resources/messages/remove.ts';
import { item, list, optional } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { messageShape, wireMessage } from '../wire/message.ts';

const PATH = '/system/messages';

export const messageRoutes: readonly Route[] = [
  route({
    id: 'messages.list',
    isLive: false,
    method: 'GET',
    path: PATH,
    summary: 'List the bulletin, newest first',
    verb: listMessages,
    answer: list(messageShape, wireMessage),
  }),
  route({
    id: 'messages.get',
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
    isLive: false,
    method: 'DELETE',
    path: `${PATH}/:id`,
    summary: 'Clear an entry of the bulletin; no items when there was none',
    verb: removeMessage,
    answer: optional(messageShape, wireMessage),
    example: { params: { id: 'upgrade' } },
  }),
];
