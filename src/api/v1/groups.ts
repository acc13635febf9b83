import * as z from 'zod';
import type { PipelineGroup } from '../../resources/context.ts';
import { getGroup, listGroups } from '../../resources/groups.ts';
import { list, optional } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const groupSchema = z.object({
  id: z.string(),
  name: z.string(),
  type: z.literal('stream'),
  isFleet: z.literal(false),
  headgate: z.object({ pipelines: z.array(z.string()).readonly() }).describe('What Headgate knows of it.'),
});
const groupShape: Shape = { name: 'Group', schema: groupSchema };

/** Looks like a group of workers to Cribl-compatible clients; our own fields sit under `headgate`. */
const wireGroup = ({ id, pipelines }: PipelineGroup): z.output<typeof groupSchema> => ({
  id,
  name: id,
  type: 'stream',
  isFleet: false,
  headgate: { pipelines },
});

/** Cribl-compatible clients use both paths, the second for each product. */
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
