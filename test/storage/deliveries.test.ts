import { describeDeliveries } from './deliveries.ts';
import { dialects } from './dialects.ts';

for (const dialect of dialects) describeDeliveries(dialect);
