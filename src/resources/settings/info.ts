import { arch, cpus, freemem, hostname, loadavg, platform, release, totalmem } from 'node:os';
import * as z from 'zod';
import { VERSION } from '../../lib/version.ts';
import { defineVerb } from '../verb.ts';

export interface SystemFacts {
  readonly hostname: string;
  readonly version: string;
  /** What the installation calls itself. */
  readonly instance: string;
  readonly apiPort: number;
  readonly uptimeSeconds: number;
  /** Over 1, 5 and 15 minutes. */
  readonly loadavg: readonly number[];
  /** Bytes. */
  readonly memory: { readonly free: number; readonly total: number };
  readonly cpus: readonly { readonly model: string; readonly speed: number }[];
  readonly os: { readonly platform: string; readonly arch: string; readonly release: string };
}

/** What the server runs on, asked anew each time. */
export const getSystemInfo = defineVerb({
  permission: 'read:settings',
  input: z.object({}),
  run({ house }): SystemFacts {
    const { api, instance } = house.configuration().settings;
    return {
      hostname: hostname(),
      version: VERSION,
      instance: instance.name,
      apiPort: api.port,
      uptimeSeconds: Math.floor(process.uptime()),
      loadavg: loadavg(),
      memory: { free: freemem(), total: totalmem() },
      cpus: cpus().map(({ model, speed }) => ({ model, speed })),
      os: { platform: platform(), arch: arch(), release: release() },
    };
  },
});
