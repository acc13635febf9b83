import { defineUnhealthy } from './unhealthy.ts';

export const unhealthyDest = defineUnhealthy({
  id: 'unhealthy-dest',
  name: 'Unhealthy Destination',
  kind: 'output',
  metric: 'health.outputs',
});
