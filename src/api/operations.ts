import * as z from 'zod';
import { healthOperation } from './health.ts';
import { ingestOperations } from './ingest.ts';
import { loginOperation } from './login.ts';
import type { Operation } from './operation.ts';
import type { Route } from './route.ts';
import { routes } from './routes/index.ts';
import { streamOperation } from './stream.ts';

/** Below which the management API stands. */
export const PREFIX = '/api/v1';

const group = z.string().describe('The group the call is about.');

/** The same below `/m/{group}`, for that group only. */
const inGroup = (route: Route): Route => ({
  ...route,
  id: `${route.id}InGroup`,
  path: `/m/:group${route.path}`,
  summary: `${route.summary}, in a group`,
  params: { group, ...route.params },
  example: { ...route.example, params: { group: 'default', ...route.example.params } },
});

/** Every path of the management API that needs a token. */
export const served: readonly Route[] = routes.flatMap(route =>
  route.grouped ? [route, inGroup(route)] : [route],
);

/** Everything that can be asked of the server, but for the page, the metrics and documents. */
export const operations: readonly Operation[] = [
  loginOperation,
  healthOperation,
  streamOperation,
  ...served,
  ...ingestOperations,
];
