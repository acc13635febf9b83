import { describeStorage } from './contract.ts';
import { dialects } from './dialects.ts';

for (const dialect of dialects) describeStorage(dialect);
