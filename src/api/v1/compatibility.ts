import * as z from 'zod';
import { AppError } from '../../lib/errors.ts';
import { listPageOf, pageQuery } from '../../resources/paging.ts';
import { defineVerb } from '../../resources/verb.ts';
import { list, optional } from '../envelope.ts';
import type { Operation, Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

/** What Headgate does not have of the Cribl API, by how its paths begin below `/api/v1` and below a group. */
const NOT_OFFERED: readonly {
  readonly what: string;
  readonly why: string;
  readonly prefixes: readonly string[];
}[] = [
  {
    what: 'what shapes data on its way',
    why: 'Headgate watches pipelines and carries none of their data',
    prefixes: [
      ...['/pipelines', '/routes', '/packs', '/functions', '/lib', '/p', '/preview', '/executors'],
      ...['/system/samples', '/system/lookups', '/system/capture', '/system/projects'],
      ...['/system/subscriptions', '/system/scripts', '/system/inputs/:id/hectoken'],
      ...['/system/inputs/:id/pq', '/system/outputs/:id/pq', '/system/outputs/:id/samples'],
      '/system/outputs/:id/test',
    ],
  },
  {
    what: 'collectors and their jobs',
    why: 'Headgate watches pipelines and collects nothing itself',
    prefixes: ['/collectors', '/jobs', '/system/database-connections'],
  },
  {
    what: 'lakes and search',
    why: 'Headgate stores none of the data that it watches',
    prefixes: ['/products/lake', '/products/search', '/search', '/datasets', '/dataset-providers', '/lake'],
  },
  {
    what: 'hosts and edge nodes',
    why: 'the engines run on their own, and Headgate only reads how they are',
    prefixes: ['/w', '/edge', '/products/edge', '/master/outposts', '/products/outpost', '/kubernetes'],
  },
  {
    what: 'a remote to push versions to or to read them from',
    why: 'the store of the server keeps them, and files can be exported and applied',
    prefixes: ['/version/push', '/version/sync'],
  },
  {
    what: 'licences',
    why: 'Headgate needs none',
    prefixes: ['/system/licenses', '/system/license'],
  },
  {
    what: 'teams, policies and sign-in by SAML, LDAP or smart card',
    why: 'each user has a role, and people sign in by password or OpenID Connect',
    prefixes: [
      ...['/system/teams', '/system/policies', '/auth/multi-factor', '/auth/metadata', '/auth/slo'],
      ...['/auth/sso', '/auth/groups', '/auth/authorization-code', '/auth/users/:id/invalidation'],
      ...['/master/groups/:id/acl/apply', '/master/groups/:id/acl/teams/apply'],
      ...['/products/:product/users', '/products/stream/users'],
    ],
  },
  {
    what: 'certificates and key management services',
    why: 'TLS is set by files of the configuration, and secrets lie in the store of /system/secrets',
    prefixes: ['/system/certificates', '/system/credentials', '/security', '/system/kms'],
  },
  {
    what: 'upgrades, restarts, diagnostics and logs over the API',
    why: 'the operator runs the process, and its log goes to standard error',
    prefixes: [
      ...['/system/settings/restart', '/system/settings/reload', '/system/settings/upgrade', '/system/diag'],
      ...['/system/logs', '/system/processes', '/system/banners', '/system/settings/git-settings'],
      ...['/system/settings/cribl', '/system/settings/search-limits', '/settings', '/system/limits'],
      ...['/system/api-limits', '/system/job-limits', '/system/redis-cache-limits', '/master/bundles'],
      ...['/system/services-limits', '/system/settings/insights', '/master/workers/restart'],
      ...['/products/:product/workers/restart', '/system/metrics/enum', '/clui', '/ui'],
    ],
  },
  {
    what: 'single workers',
    why: 'the list has all processes',
    prefixes: ['/master/workers/:id', '/products/:product/workers/:id'],
  },
];

const places = (path: string): RegExp => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}(?=/|$)`);

const OUTSIDE = NOT_OFFERED.flatMap(({ prefixes, ...reason }) =>
  prefixes.map(prefix => ({ ...reason, pattern: places(prefix) })),
);

const reasonFor = (path: string) =>
  OUTSIDE.find(({ pattern }) => pattern.test(path.replace(/^\/m\/[^/]+/, '')));

/** The refusal of a path that other servers of the Cribl API have; undefined for one that none has. */
export function notOffered(path: string): AppError | undefined {
  const reason = reasonFor(path);
  return reason && new AppError('not-offered', `Headgate does not have ${reason.what}: ${reason.why}`);
}

/** The public operations of the Cribl API: methods, path, and what differs here where it is offered. */
const FAMILY: readonly (readonly [methods: string, path: string, difference?: string])[] = [
  ['POST', '/auth/login', 'self-managed only; in hosted deployments the login service issues tokens'],
  ['POST', '/auth/logout'],
  ['DELETE', '/auth/users/:id/token', 'without `ttl`: the user can log in again at once'],
  ['DELETE', '/auth/users/:id/invalidation'],
  ['GET', '/auth/groups'],
  ['GET', '/auth/metadata'],
  ['GET', '/auth/multi-factor'],
  ['GET', '/auth/sso'],
  ['GET', '/authorize/policy'],
  ['GET', '/authorize/roles'],
  ['GET', '/health'],
  [
    'GET POST',
    '/system/inputs',
    'inputs are those of the engines that Headgate reads; one that is sent is declared',
  ],
  ['GET PATCH DELETE', '/system/inputs/:id', 'a body without all required fields is merged'],
  ['POST', '/system/inputs/:id/hectoken'],
  ['GET DELETE', '/system/inputs/:id/pq'],
  ['GET POST', '/system/outputs', 'as for inputs'],
  ['GET PATCH DELETE', '/system/outputs/:id', 'as for inputs'],
  ['GET DELETE', '/system/outputs/:id/pq'],
  ['GET', '/system/outputs/:id/samples'],
  ['POST', '/system/outputs/:id/test'],
  ['GET', '/system/status/inputs'],
  ['GET', '/system/status/inputs/:id'],
  ['GET', '/system/status/outputs'],
  ['GET', '/system/status/outputs/:id'],
  ['GET POST', '/notifications'],
  ['GET PATCH DELETE', '/notifications/:id', 'a body without all required fields is merged'],
  ['GET POST', '/notification-targets'],
  ['GET PATCH DELETE', '/notification-targets/:id', 'a body without all required fields is merged'],
  ['GET', '/conditions'],
  ['GET POST', '/system/messages'],
  ['GET DELETE', '/system/messages/:id'],
  ['GET POST', '/system/users', 'self-managed only'],
  ['GET PATCH DELETE', '/system/users/:id', 'self-managed only; what is left out stays'],
  ['PATCH', '/system/users/:id/info', 'self-managed only'],
  ['GET', '/system/roles', 'the roles are fixed'],
  ['GET POST', '/system/teams'],
  ['GET POST', '/system/policies'],
  ['GET', '/system/secrets', 'never with a value'],
  [
    'GET',
    '/system/keys',
    'always empty: no data is encrypted here; keys of tokens are at `/system/signing-keys`',
  ],
  ['GET', '/system/info', 'hosted deployments leave out the machine'],
  [
    'GET PATCH',
    '/system/settings/conf',
    'sections that Headgate does not have are answered and cannot be changed',
  ],
  ['GET PATCH', '/system/settings/auth', 'self-managed only; `local` and `openid`'],
  ['POST', '/system/settings/restart'],
  ['GET', '/system/licenses'],
  ['GET', '/system/certificates'],
  ['GET', '/system/credentials'],
  ['GET', '/system/logs'],
  ['POST', '/system/capture'],
  ['GET', '/system/samples'],
  ['GET', '/system/lookups'],
  ['GET', '/system/subscriptions'],
  ['GET', '/system/projects'],
  ['GET', '/system/metrics', 'metrics of inputs and outputs'],
  [
    'POST',
    '/system/metrics/query',
    'the common part: `sum`, `rate`, `count` and `max` by input, output, group and time',
  ],
  ['POST', '/system/metrics/enum'],
  ['GET POST', '/master/groups', 'a group is a name that pipelines, components and notifications carry'],
  [
    'GET PATCH DELETE',
    '/master/groups/:id',
    'name and description change; only one that nothing is in is removed',
  ],
  ['PATCH', '/master/groups/:id/deploy', 'answers the newest version, which is in force already'],
  ['GET', '/master/groups/:id/configVersion', 'the newest version'],
  ['GET', '/master/groups/:id/acl', 'always empty: roles are of the whole workspace'],
  ['POST', '/master/groups/:id/acl/apply'],
  ['POST', '/master/groups/:id/acl/teams/apply'],
  ['GET', '/master/groups/:id/acl/teams', 'always empty'],
  ['GET', '/master/workers', 'the processes of Headgate'],
  ['GET', '/master/workers/:id'],
  ['PATCH', '/master/workers/restart'],
  ['GET', '/master/summary', 'counts inputs and outputs, and processes as workers'],
  ['GET', '/master/summary/workers', 'counts the processes of Headgate'],
  ['GET', '/master/outputs', 'always empty: there is no leader that sends'],
  ['GET', '/products/:product/workers', 'as `/master/workers`; the product `stream` has them all'],
  ['GET', '/products/:product/workers/:id'],
  ['PATCH', '/products/:product/workers/restart'],
  ['GET', '/products/:product/summary', 'as `/master/summary`'],
  ['GET', '/products/:product/summary/workers', 'as `/master/summary/workers`'],
  ['GET', '/system/instance', 'always single: processes share a store'],
  ['GET', '/system/instance/distributed', 'as the list'],
  ['GET POST', '/products/:product/groups', 'the product `stream` has them all, every other none'],
  ['GET PATCH DELETE', '/products/:product/groups/:id', 'as for `/master/groups`'],
  ['PATCH', '/products/:product/groups/:id/deploy', 'as for `/master/groups`'],
  ['GET', '/products/:product/groups/:id/configVersion', 'the newest version'],
  ['GET', '/products/:product/groups/:id/acl', 'always empty'],
  ['GET', '/products/:product/groups/:id/acl/teams', 'always empty'],
  ['GET POST', '/pipelines', 'always empty'],
  ['GET PATCH DELETE', '/pipelines/:id', 'always empty'],
  ['GET', '/routes', 'always empty'],
  ['GET PATCH', '/routes/:id', 'always empty'],
  ['POST', '/routes/:id/append'],
  ['GET POST', '/packs', 'always empty'],
  ['GET PATCH DELETE', '/packs/:id', 'always empty'],
  ['GET', '/functions', 'always empty'],
  ['GET', '/functions/:id', 'always empty'],
  ['GET POST', '/lib/jobs'],
  ['GET PATCH DELETE', '/lib/jobs/:id'],
  ['GET POST', '/lib/database-connections'],
  ['GET', '/jobs'],
  ['GET', '/collectors'],
  ['GET', '/search/jobs'],
  ['GET POST', '/products/lake/lakes/:lake/datasets'],
  ['GET', '/master/outposts'],
  ['GET', '/security/kms'],
  ['GET', '/settings/features'],
  ['GET', '/version', 'versions take the place of commits: what takes effect is one at once'],
  ['GET', '/version/branch', 'there is one, `main`'],
  ['GET', '/version/current-branch'],
  ['GET', '/version/count'],
  ['GET', '/version/diff'],
  ['GET', '/version/files'],
  ['GET', '/version/info'],
  ['GET', '/version/show'],
  ['GET', '/version/status'],
  ['POST', '/version/commit', 'answers the newest version, as nothing waits for a commit'],
  ['POST', '/version/push'],
  ['POST', '/version/sync'],
  ['POST', '/version/undo', 'nothing waits, so that nothing is discarded'],
  ['POST', '/version/revert', 'makes the files read as in that version'],
];

const STATES = ['offered', 'different', 'not-offered'] as const;

const compatibilitySchema = z.object({
  method: z.string(),
  path: z.string().describe('Below `/api/v1`.'),
  state: z.enum(STATES).describe('`different` is offered with a difference, which `note` says.'),
  note: z.string().optional(),
});
const compatibilityShape: Shape = { name: 'Compatibility', schema: compatibilitySchema };

export type Compatibility = z.output<typeof compatibilitySchema>;

type Offered = Pick<Operation, 'method' | 'path'>;

/** What of the Cribl API a server with these operations has. Throws for an operation that nothing explains. */
export const compatibilityOf = (offered: readonly Offered[]): readonly Compatibility[] =>
  FAMILY.flatMap(([methods, path, difference]) =>
    methods.split(' ').map((method): Compatibility => {
      const place = path.replace(/:\w+/g, ':');
      const isOffered = offered.some(
        one => one.method === method && one.path.replace(/:\w+/g, ':') === place,
      );
      if (isOffered)
        return {
          ...{ method, path: braced(path) },
          ...(difference === undefined ? { state: 'offered' } : { state: 'different', note: difference }),
        };
      const reason = reasonFor(path);
      if (reason === undefined) throw new Error(`nothing says why ${method} ${path} is not offered`);
      return { method, path: braced(path), state: 'not-offered', note: reason.why };
    }),
  );

const braced = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

const emptyShape: Shape = { name: 'NothingHere', schema: z.object({}) };
const emptyList = defineVerb({
  permission: 'read:inputs',
  input: z.object(pageQuery),
  run: (_call, query) => listPageOf(query, nothing),
});
const nothing: readonly object[] = [];

const emptyRoute = {
  grouped: 'alike',
  isLive: false,
  method: 'GET',
  summary: 'Always empty: it is there for Cribl-compatible clients that read a whole group',
} as const;

const emptyListRoute = (noun: string, path: string): Route =>
  route({
    ...emptyRoute,
    id: `${noun}.list`,
    path,
    verb: emptyList,
    answer: list(emptyShape, (one: object) => one),
  });

/** Nothing of these is there, so that tools which read a whole group go on. */
const emptyRoutes: readonly Route[] = [
  ...['pipelines', 'routes', 'packs', 'functions'].flatMap(noun => [
    emptyListRoute(noun, `/${noun}`),
    route({
      ...emptyRoute,
      id: `${noun}.get`,
      path: `/${noun}/:id`,
      verb: defineVerb({
        permission: 'read:inputs',
        input: z.object({ id: z.string().max(512) }),
        run: (): object | undefined => undefined,
      }),
      answer: optional(emptyShape, (one: object) => one),
      example: { params: { id: 'default' } },
    }),
  ]),
  emptyListRoute('dataKeys', '/system/keys'),
  emptyListRoute('leaderOutputs', '/master/outputs'),
];

/** `offered` are the operations without these. */
export function compatibilityRoutes(offered: readonly Offered[]): readonly Route[] {
  const rows = compatibilityOf([...offered, ...emptyRoutes]);
  return [
    ...emptyRoutes,
    route({
      id: 'compatibility.list',
      isLive: false,
      method: 'GET',
      path: '/compatibility',
      summary: 'List the public operations of the Cribl API, and which of them Headgate offers',
      verb: defineVerb({
        permission: 'any actor',
        input: z.object({ ...pageQuery, state: z.enum(STATES).optional() }),
        run: (_call, { state, ...query }) =>
          listPageOf(
            query,
            rows.filter(row => state === undefined || row.state === state),
          ),
      }),
      answer: list(compatibilityShape, (row: Compatibility) => row),
      example: { query: { state: 'different', limit: '2' } },
    }),
  ];
}
