import { defineUnhealthy } from './unhealthy.ts';

export const unhealthySource = defineUnhealthy({
  id: 'unhealthy-source',
  name: 'Unhealthy Source',
  kind: 'input',
  metric: 'health.inputs',
});
