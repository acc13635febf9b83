import { getMe } from '../../resources/auth/me.ts';
import { item } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { meShape, wireMe } from '../wire/me.ts';

export const authRoutes: readonly Route[] = [
  route({
    id: 'auth.me',
    isLive: false,
    method: 'GET',
    path: '/auth/me',
    summary: 'Tell who calls and what they may do',
    verb: getMe,
    answer: item(meShape, wireMe),
  }),
];
