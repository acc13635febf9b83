import * as z from 'zod';
import type { SystemFacts } from '../../resources/settings/info.ts';
import type { Shape } from '../shape.ts';

const info = z.object({
  hostname: z.string(),
  version: z.string(),
  apiPort: z.int(),
  loadavg: z.array(z.number()).readonly().describe('Over 1, 5 and 15 minutes.'),
  memory: z.object({ free: z.number(), total: z.number() }).describe('Bytes.'),
  cpus: z.array(z.object({ model: z.string(), speed: z.number() })).readonly(),
  os: z.object({ platform: z.string(), arch: z.string(), release: z.string() }),
  BUILD: z.object({ VERSION: z.string() }),
  uptime: z.number().describe('Seconds.'),
  distMode: z.literal('single'),
  headgate: z.object({ instance: z.string() }).describe('What this installation is called.'),
});
export const infoShape: Shape = { name: 'SystemInfo', schema: info };

/** `/system/info` under the family's names. */
export const wireInfo = ({ instance, uptimeSeconds, ...facts }: SystemFacts): z.output<typeof info> => ({
  ...facts,
  BUILD: { VERSION: facts.version },
  uptime: uptimeSeconds,
  distMode: 'single',
  headgate: { instance },
});
