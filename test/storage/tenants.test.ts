import { dialects } from './dialects.ts';
import { describeTenants } from './tenants.ts';

for (const dialect of dialects) describeTenants(dialect);
