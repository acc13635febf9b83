import type { PlainMap } from '../../config/plain.ts';
import { isMap } from '../../config/plain.ts';
import { etagOf } from '../../resources/etag.ts';
import { createTarget } from '../../resources/targets/create.ts';
import type { DescribedTarget } from '../../resources/targets/described.ts';
import { getTarget } from '../../resources/targets/get.ts';
import { listTargets } from '../../resources/targets/list.ts';
import { removeTarget } from '../../resources/targets/remove.ts';
import { testTarget } from '../../resources/targets/test.ts';
import { updateTarget } from '../../resources/targets/update.ts';
import type { Call } from '../../resources/verb.ts';
import { item, list } from '../envelope.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';
import { sentTarget, targetShape, wireTarget } from '../wire/target.ts';
import { testRequestShape, testResultShape, wireTestResult } from '../wire/target-test.ts';

const PATH = '/notification-targets';
const one = {
  path: `${PATH}/:id`,
  answer: item(targetShape, wireTarget),
  etag: ({ settings }: DescribedTarget) => etagOf(settings),
};
const example = { params: { id: 'shop_hook' } };

const accept = (body: unknown, { house }: Call, { id }: PlainMap): unknown =>
  isMap(body)
    ? sentTarget(body, house.configuration().targets.find(({ settings }) => settings.id === id)?.settings)
    : body;

export const targetRoutes: readonly Route[] = [
  route({
    id: 'targets.list',
    method: 'GET',
    path: PATH,
    summary: 'List the targets with every default, secrets masked',
    verb: listTargets,
    answer: list(targetShape, wireTarget),
    example: { query: { limit: '1' } },
  }),
  route({
    ...one,
    id: 'targets.create',
    method: 'POST',
    path: PATH,
    summary: 'Add a target',
    description: 'Secrets of the body go to the encrypted store, references to them into the file.',
    verb: createTarget,
    takes: { shape: targetShape },
    accept: body => (isMap(body) ? sentTarget(body, undefined) : body),
    errors: WRITE_ERRORS,
    example: {
      body: {
        id: 'shop_hook',
        type: 'webhook',
        url: 'https://hooks.example/shop',
        authType: 'token',
        token: 'from-the-receiver',
      },
    },
  }),
  route({
    ...one,
    id: 'targets.get',
    method: 'GET',
    summary: 'Get a target',
    verb: getTarget,
    example: { params: { id: 'log' } },
  }),
  route({
    ...one,
    id: 'targets.update',
    method: 'PATCH',
    summary: 'Change a target',
    description: 'Another destination must bring its secrets anew. `********` keeps what is stored.',
    verb: updateTarget,
    takes: { shape: targetShape, kind: 'part' },
    accept,
    errors: WRITE_ERRORS,
    example: { ...example, body: { description: 'The team of the shop.' } },
  }),
  route({
    ...one,
    id: 'targets.remove',
    method: 'DELETE',
    summary: 'Remove a target that nothing sends to',
    verb: removeTarget,
    errors: WRITE_ERRORS,
    example,
  }),
  route({
    id: 'targets.test',
    method: 'POST',
    path: `${PATH}/:id/test`,
    summary: 'Send a test to a target as deliveries are sent to it',
    description:
      'The answer is 200 whatever came of it: `success` says whether it arrived. Of a router `outputs` says it for each target the test was routed to. With `target` in the body those settings are tested and not kept.',
    verb: testTarget,
    takes: { shape: testRequestShape },
    accept: (body, call, input) =>
      isMap(body) && isMap(body.target) ? { ...body, target: accept(body.target, call, input) } : body,
    answer: item(testResultShape, wireTestResult),
    errors: ['rate-limited', 'unprocessable', 'configuration-broken', 'conflict'],
    example: { params: { id: 'log' }, body: {} },
  }),
];
