import type { PlainMap } from '../../config/plain.ts';
import { isMap } from '../../config/plain.ts';
import { etagOf } from '../../resources/etag.ts';
import { createTarget } from '../../resources/targets/create.ts';
import { getTarget } from '../../resources/targets/get.ts';
import { listTargets } from '../../resources/targets/list.ts';
import { removeTarget } from '../../resources/targets/remove.ts';
import { updateTarget } from '../../resources/targets/update.ts';
import type { Call } from '../../resources/verb.ts';
import type { CommonSettings } from '../../targets/target.ts';
import { envelope, single } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { sentTarget, wireTarget } from '../wire/target.ts';

const PATH = '/notification-targets';
const one = {
  path: `${PATH}/:id`,
  shape: (settings: CommonSettings) => single(wireTarget(settings)),
  etag: etagOf,
};

const accept = (body: unknown, { house }: Call, { id }: PlainMap): unknown =>
  isMap(body)
    ? sentTarget(body, house.configuration().targets.find(({ settings }) => settings.id === id)?.settings)
    : body;

export const targetRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: PATH,
    summary: 'List the targets',
    verb: listTargets,
    shape: page => envelope(page, wireTarget),
  }),
  route({
    ...one,
    method: 'POST',
    path: PATH,
    summary: 'Add a target',
    verb: createTarget,
    accept: body => (isMap(body) ? sentTarget(body, undefined) : body),
  }),
  route({ ...one, method: 'GET', summary: 'Get a target', verb: getTarget }),
  route({ ...one, method: 'PATCH', summary: 'Change a target', verb: updateTarget, accept }),
  route({ ...one, method: 'DELETE', summary: 'Remove a target that nothing sends to', verb: removeTarget }),
];
