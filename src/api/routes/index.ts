import type { Route } from '../route.ts';
import { componentRoutes } from './components.ts';
import { incidentRoutes } from './incidents.ts';
import { notificationRoutes } from './notifications.ts';
import { secretRoutes } from './secrets.ts';
import { systemRoutes } from './system.ts';

/** Everything below `/api/v1` that needs a token. */
export const routes: readonly Route[] = [
  ...componentRoutes,
  ...notificationRoutes,
  ...incidentRoutes,
  ...systemRoutes,
  ...secretRoutes,
];
