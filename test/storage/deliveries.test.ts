import { describeDeliveries } from './deliveries.ts';
import { dialects } from './dialects.ts';
import { describeGroups } from './groups.ts';

for (const dialect of dialects) {
  describeDeliveries(dialect);
  describeGroups(dialect);
}
