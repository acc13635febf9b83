import * as z from 'zod';
import { DEFAULT_GROUP } from '../../resources/context.ts';
import {
  createGroup,
  type DescribedGroup,
  deployGroup,
  getGroup,
  getGroupVersion,
  getSummary,
  listGroupAccess,
  listGroups,
  listWorkers,
  removeGroup,
  type Summary,
  updateGroup,
  type Worker,
} from '../../resources/groups.ts';
import { item, list, optional } from '../envelope.ts';
import type { RouteAnswer, Shape } from '../operation.ts';
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

const number = z.number().describe('0 where it is not known.');
const text = z.string().describe('Empty where it is not known.');
const workerSchema = z.object({
  id: z.string(),
  group: z.string(),
  status: z.literal('healthy'),
  disconnected: z.literal(false),
  deployable: z.literal(false).describe('What is saved is in force already.'),
  firstMsgTime: z.number().describe('Epoch ms of its start.'),
  lastMsgTime: z.number().describe('Epoch ms of this answer.'),
  workerProcesses: z.literal(1),
  workers: z.object({ count: z.literal(1) }),
  info: z.object({
    ...{ hostname: text, platform: text, release: text, architecture: text, node: text },
    ...{ cpus: number, totalmem: number, freemem: number },
    totalDiskSpace: z.literal(0).describe('Is not read.'),
    freeDiskSpace: z.literal(0).describe('Is not read.'),
    env: z.object({}),
    cribl: z.object({
      guid: z.string(),
      group: z.string(),
      distMode: z.literal('worker'),
      version: z.string(),
      startTime: z.number().describe('Epoch ms.'),
      config: z.object({}),
      tags: z.array(z.string()),
    }),
  }),
});
const workerShape: Shape = { name: 'Worker', schema: workerSchema };

const wireWorker = ({ id, version, startedAt, seenAt, machine }: Worker): z.output<typeof workerSchema> => ({
  ...{ id, group: DEFAULT_GROUP, status: 'healthy', disconnected: false, deployable: false },
  ...{ firstMsgTime: startedAt, lastMsgTime: seenAt, workerProcesses: 1, workers: { count: 1 } },
  info: {
    hostname: machine?.hostname ?? '',
    platform: machine?.os.platform ?? '',
    release: machine?.os.release ?? '',
    architecture: machine?.os.arch ?? '',
    node: machine === undefined ? '' : process.version,
    cpus: machine?.cpus.length ?? 0,
    totalmem: machine?.memory.total ?? 0,
    freemem: machine?.memory.free ?? 0,
    ...{ totalDiskSpace: 0, freeDiskSpace: 0, env: {} },
    cribl: {
      ...{ guid: id, group: DEFAULT_GROUP, distMode: 'worker', version, startTime: startedAt },
      ...{ config: {}, tags: [] },
    },
  },
});

const none = z.literal(0);
const whole = z.int().min(0);
const summarySchema = z.object({
  groups: z.object({
    ...{ count: whole, sources: whole, destinations: whole },
    ...{ packs: none, pipelines: none, quickConnects: none, routes: none },
  }),
  workers: z.object({
    ...{ alive: whole, count: whole, groups: whole, softwareVersions: whole, confVersions: whole },
    ...{ disconnectedCount: none, unhealthy: none },
  }),
});
const summaryShape: Shape = { name: 'Summary', schema: summarySchema };
const countShape: Shape = { name: 'WorkerCount', schema: whole };

const wireSummary = ({
  groups,
  inputs,
  outputs,
  workers,
  versions,
}: Summary): z.output<typeof summarySchema> => ({
  groups: {
    ...{ count: groups, sources: inputs, destinations: outputs },
    ...{ packs: 0, pipelines: 0, quickConnects: 0, routes: 0 },
  },
  workers: {
    ...{ alive: workers, count: workers, softwareVersions: versions },
    // All go by the newest version of the configuration, and by that of every group.
    ...{ groups, confVersions: Math.min(workers, 1), disconnectedCount: 0, unhealthy: 0 },
  },
});

const countAnswer: RouteAnswer<Summary> = {
  kind: 'item',
  shape: countShape,
  make: ({ workers }) => ({ items: [workers], count: 1 }),
};

/** What Cribl-compatible clients look for of the machines that work, which here are the processes of Headgate. */
const workerRoutes = ({ path, suffix, params }: GroupPlace): Route[] => {
  const base = path.replace('/groups', '');
  return [
    route({
      id: `workers.list${suffix}`,
      method: 'GET',
      path: `${base}/workers`,
      summary: 'List the processes of Headgate as workers',
      description:
        'The machine is named where there is one process, and never in hosted installations, where one entry stands for all.',
      verb: listWorkers,
      answer: list(workerShape, wireWorker),
      example: { params },
    }),
    route({
      id: `workers.summary${suffix}`,
      method: 'GET',
      path: `${base}/summary`,
      summary: 'Count groups, inputs, outputs and processes',
      verb: getSummary,
      answer: item(summaryShape, wireSummary),
      example: { params },
    }),
    route({
      id: `workers.count${suffix}`,
      method: 'GET',
      path: `${base}/summary/workers`,
      summary: 'Count the processes of Headgate',
      verb: getSummary,
      answer: countAnswer,
      example: { params },
    }),
  ];
};

export const groupRoutes: readonly Route[] = PLACES.flatMap(place => [
  ...readRoutes(place),
  ...writeRoutes(place),
  ...workerRoutes(place),
]);
