import { getGroup } from '../../resources/groups/get.ts';
import { listGroups } from '../../resources/groups/list.ts';
import { envelope, optional } from '../envelope.ts';
import { get, type Route } from '../route.ts';
import { wireGroup } from '../wire/group.ts';

/** The family has had both paths, and asks of each product for itself. */
export const groupRoutes: readonly Route[] = ['/master/groups', '/products/:product/groups'].flatMap(path => [
  get(path, 'List the groups', listGroups, page => envelope(page, wireGroup)),
  get(`${path}/:id`, 'Get a group; no items when there is none', getGroup, group =>
    optional(group && wireGroup(group)),
  ),
]);
