import { dialects } from './dialects.ts';
import { describeIngestTokens } from './ingest-tokens.ts';

for (const dialect of dialects) describeIngestTokens(dialect);
