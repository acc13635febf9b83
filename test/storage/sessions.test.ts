import { dialects } from './dialects.ts';
import { describeSessions } from './sessions.ts';

for (const dialect of dialects) describeSessions(dialect);
