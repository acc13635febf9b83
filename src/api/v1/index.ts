import * as z from 'zod';
import { ingestOperations } from '../ingest/ingest.ts';
import type { Operation } from '../operation.ts';
import type { Route } from '../route.ts';
import { auditRoutes } from './audit.ts';
import { authRoutes, loginOperation } from './auth.ts';
import { compatibilityRoutes } from './compatibility.ts';
import { componentRoutes } from './components.ts';
import { conditionRoutes } from './conditions.ts';
import { configurationRoutes } from './configuration.ts';
import { deliveryRoutes } from './deliveries.ts';
import { groupRoutes } from './groups.ts';
import { healthOperation } from './health.ts';
import { incidentRoutes } from './incidents.ts';
import { ingestTokenRoutes } from './ingest-tokens.ts';
import { keyRoutes } from './keys.ts';
import { messageRoutes } from './messages.ts';
import { metricRoutes, reportRoutes, suggestRoutes } from './metrics.ts';
import { explainRoutes, inhibitionRoutes, notificationRoutes } from './notifications.ts';
import { secretRoutes } from './secrets.ts';
import { settingsRoutes } from './settings.ts';
import { silenceRoutes } from './silences.ts';
import { streamOperation } from './stream.ts';
import { systemRoutes } from './system.ts';
import { keptSettingsRoutes, targetRoutes } from './targets.ts';
import { userRoutes } from './users.ts';
import { versionRoutes } from './versions.ts';

/** All that is more than an answer for clients of others. */
const ownRoutes: readonly Route[] = [
  ...authRoutes,
  // Nothing is kept once its notification or target is removed.
  ...keptSettingsRoutes,
  ...componentRoutes,
  ...metricRoutes,
  ...suggestRoutes,
  ...notificationRoutes,
  ...inhibitionRoutes,
  ...explainRoutes,
  ...conditionRoutes,
  ...targetRoutes,
  ...incidentRoutes,
  ...deliveryRoutes,
  ...messageRoutes,
  ...silenceRoutes,
  ...groupRoutes,
  ...reportRoutes,
  ...secretRoutes,
  ...ingestTokenRoutes,
  ...userRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...versionRoutes,
  ...configurationRoutes,
  ...settingsRoutes,
  ...systemRoutes,
];

/** Everything below `/api/v1` that needs a token. */
export const routes: readonly Route[] = [
  ...ownRoutes,
  ...compatibilityRoutes([loginOperation, healthOperation, ...ownRoutes]),
];

export { notOffered } from './compatibility.ts';

export const API_PREFIX = '/api/v1';

const group = z.string().describe('The group the call is about.');

/** Serves the same below `/m/{group}`, for that group only. */
const groupRoute = (route: Route): Route => ({
  ...route,
  id: `${route.id}InGroup`,
  path: `/m/:group${route.path}`,
  summary: `${route.summary}, in a group`,
  params: { group, ...route.params },
  example: { ...route.example, params: { group: 'default', ...route.example.params } },
});

/** Every path of the management API that needs a token. */
export const servedRoutes: readonly Route[] = routes.flatMap(route =>
  route.grouped === false ? [route] : [route, groupRoute(route)],
);

const documentedRoutes = routes.flatMap(route =>
  route.grouped === true ? [route, groupRoute(route)] : [route],
);

/** All operations of the server; the page, metrics and documents are none. */
export const operations: readonly Operation[] = [
  loginOperation,
  healthOperation,
  streamOperation,
  ...documentedRoutes,
  ...ingestOperations,
];
