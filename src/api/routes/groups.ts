import { getGroup } from '../../resources/groups/get.ts';
import { listGroups } from '../../resources/groups/list.ts';
import { list, optional } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { groupShape, wireGroup } from '../wire/group.ts';

/** The family has had both paths, and asks of each product for itself. */
const PLACES = [
  { path: '/master/groups', suffix: '', params: {} },
  { path: '/products/:product/groups', suffix: 'OfProduct', params: { product: 'stream' } },
] as const;

export const groupRoutes: readonly Route[] = PLACES.flatMap(({ path, suffix, params }) => [
  route({
    id: `groups.list${suffix}`,
    method: 'GET',
    path,
    summary: 'List the groups',
    verb: listGroups,
    answer: list(groupShape, wireGroup),
    example: { params },
  }),
  route({
    id: `groups.get${suffix}`,
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a group; no items when there is none',
    verb: getGroup,
    answer: optional(groupShape, wireGroup),
    example: { params: { ...params, id: 'default' } },
  }),
]);
