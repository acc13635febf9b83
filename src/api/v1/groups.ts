import * as z from 'zod';
import {
  createGroup,
  type DescribedGroup,
  deployGroup,
  getGroup,
  getGroupVersion,
  listGroupAccess,
  listGroups,
  removeGroup,
  updateGroup,
} from '../../resources/groups.ts';
import { item, list, optional } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const groupSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  type: z.literal('stream'),
  isFleet: z.literal(false),
  isSearch: z.literal(false),
  configVersion: z
    .string()
    .optional()
    .describe('Id of the newest version, which counts in every group; absent before the first is written.'),
  headgate: z.object({ pipelines: z.array(z.string()).readonly() }).describe('What Headgate knows of it.'),
});
const groupShape: Shape = { name: 'Group', schema: groupSchema };
const versionIdShape: Shape = { name: 'VersionId', schema: z.string() };
const accessShape: Shape = {
  name: 'GroupAccess',
  schema: z.object({ user: z.string(), perms: z.array(z.string()) }),
};

/** Looks like a group of workers to Cribl-compatible clients; our own fields sit under `headgate`. */
const wireGroup = ({
  id,
  name,
  description,
  pipelines,
  version,
}: DescribedGroup): z.output<typeof groupSchema> => ({
  id,
  name,
  description,
  type: 'stream',
  isFleet: false,
  isSearch: false,
  ...(version !== undefined && { configVersion: version }),
  headgate: { pipelines },
});

/** Cribl-compatible clients use both paths, the second for each product. */
const PLACES = [
  { path: '/master/groups', suffix: '', params: {} },
  { path: '/products/:product/groups', suffix: 'OfProduct', params: { product: 'stream' } },
] as const;

type GroupPlace = (typeof PLACES)[number];

const readRoutes = ({ path, suffix, params }: GroupPlace): Route[] => [
  route({
    id: `groups.list${suffix}`,
    method: 'GET',
    path,
    summary: 'List the groups; products other than stream have none',
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
  route({
    id: `groups.version${suffix}`,
    method: 'GET',
    path: `${path}/:id/configVersion`,
    summary: 'Get the id of the version that counts in a group, which is the newest',
    verb: getGroupVersion,
    answer: item(versionIdShape, (id: string) => id),
    errors: ['not-offered'],
    example: { params: { ...params, id: 'default' } },
  }),
  ...['acl', 'acl/teams'].map((name, index) =>
    route({
      id: `groups.${index === 0 ? 'access' : 'teamAccess'}${suffix}`,
      method: 'GET',
      path: `${path}/:id/${name}`,
      summary: 'Always empty: roles are of the whole workspace',
      verb: listGroupAccess,
      answer: optional(accessShape, (one: object) => one),
      errors: ['not-found', 'not-offered'],
      example: { params: { ...params, id: 'default' } },
    }),
  ),
];

const writeRoutes = ({ path, suffix, params }: GroupPlace): Route[] => {
  const id = suffix === '' ? 'shops' : 'plants';
  const example = { params: { ...params, id } };
  return [
    route({
      id: `groups.create${suffix}`,
      method: 'POST',
      path,
      summary: 'Make a group with nothing in it',
      description:
        'A group is a name that pipelines, inputs, outputs and notifications carry, and is there as long as one does; this records a name and a description. What Cribl-compatible clients send besides makes no difference.',
      verb: createGroup,
      takes: { shape: { name: 'NewGroup' } },
      answer: item(groupShape, wireGroup),
      errors: ['conflict', 'not-offered'],
      example: { params, body: { id, description: 'All shops.' } },
    }),
    route({
      id: `groups.update${suffix}`,
      method: 'PATCH',
      path: `${path}/:id`,
      summary: 'Change the name and the description of a group',
      verb: updateGroup,
      takes: { shape: { name: 'Group' }, kind: 'part' },
      answer: item(groupShape, wireGroup),
      errors: ['not-offered'],
      example: { ...example, body: { description: 'Shops in town.' } },
    }),
    route({
      id: `groups.deploy${suffix}`,
      method: 'PATCH',
      path: `${path}/:id/deploy`,
      summary: 'Get a group with the newest version, which is in force already',
      description: 'Whatever is saved is in force at once, in every group; there is nothing to deploy.',
      verb: deployGroup,
      takes: { shape: { name: 'Deployment' } },
      answer: item(groupShape, wireGroup),
      errors: ['not-offered'],
      example: { params: { ...params, id: 'default' }, body: {} },
    }),
    route({
      id: `groups.remove${suffix}`,
      method: 'DELETE',
      path: `${path}/:id`,
      summary: 'Remove a group that nothing is in',
      verb: removeGroup,
      answer: item(groupShape, wireGroup),
      errors: ['conflict', 'not-offered'],
      example,
    }),
  ];
};

export const groupRoutes: readonly Route[] = PLACES.flatMap(place => [
  ...readRoutes(place),
  ...writeRoutes(place),
]);
