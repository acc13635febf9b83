import { dialects } from './dialects.ts';
import { describeRetention } from './retention.ts';

for (const dialect of dialects) describeRetention(dialect);
