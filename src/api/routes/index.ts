import type { Route } from '../route.ts';
import { auditRoutes } from './audit.ts';
import { authRoutes } from './auth.ts';
import { componentRoutes } from './components.ts';
import { conditionRoutes } from './conditions.ts';
import { deliveryRoutes } from './deliveries.ts';
import { groupRoutes } from './groups.ts';
import { incidentRoutes } from './incidents.ts';
import { ingestTokenRoutes } from './ingest-tokens.ts';
import { keyRoutes } from './keys.ts';
import { messageRoutes } from './messages.ts';
import { metricRoutes } from './metrics.ts';
import { notificationRoutes } from './notifications.ts';
import { secretRoutes } from './secrets.ts';
import { systemRoutes } from './system.ts';
import { targetRoutes } from './targets.ts';
import { userRoutes } from './users.ts';
import { versionRoutes } from './version.ts';

/** Everything below `/api/v1` that needs a token. */
export const routes: readonly Route[] = [
  ...authRoutes,
  ...componentRoutes,
  ...metricRoutes,
  ...notificationRoutes,
  ...conditionRoutes,
  ...targetRoutes,
  ...incidentRoutes,
  ...deliveryRoutes,
  ...messageRoutes,
  ...groupRoutes,
  ...secretRoutes,
  ...ingestTokenRoutes,
  ...userRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...versionRoutes,
  ...systemRoutes,
];
