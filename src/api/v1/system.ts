import * as z from 'zod';
import type { PipelineState } from '../../pipelines/components/component.ts';
import { DEFAULT_GROUP } from '../../resources/context.ts';
import { listEngines } from '../../resources/engines.ts';
import { getInstance, getSystemInfo, type SystemInfo } from '../../resources/settings.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const engine = z.object({
  id: z.string().describe('Id of the pipeline.'),
  engine: z.string(),
  mode: z.enum(['pull', 'push']).describe('Whether it is read or sends by itself.'),
  group: z.string(),
  url: z.string().optional(),
  state: z.enum(['waiting', 'reachable', 'unreachable']),
  lastAt: z.iso.datetime().optional().describe('When it was last read, or last sent.'),
  error: z.string().optional(),
  uncounted: z
    .object({ reason: z.string(), at: z.iso.datetime().describe('When a reading last showed it.') })
    .optional()
    .describe('What its counters lack, or may lack, and why; for a day.'),
  instances: z.int().min(0),
  components: z.int().min(0),
});
const engineShape: Shape = { name: 'Engine', schema: engine };

export const wireEngine = (state: PipelineState): z.output<typeof engine> => ({
  id: state.id,
  engine: state.engine,
  mode: state.mode,
  group: state.group,
  ...(state.url !== null && { url: state.url }),
  state: state.state,
  ...(state.lastAt !== null && { lastAt: isoTime(state.lastAt) }),
  ...(state.error !== null && { error: state.error }),
  ...(state.uncounted !== null && {
    uncounted: { reason: state.uncounted.reason, at: isoTime(state.uncounted.at) },
  }),
  instances: state.instances,
  components: state.components,
});

const machine = z.object({
  hostname: z.string().describe('As what else is said of the machine, absent in hosted installations.'),
  loadavg: z.array(z.number()).readonly().describe('Over 1, 5 and 15 minutes.'),
  memory: z.object({ free: z.number(), total: z.number() }).describe('Bytes.'),
  cpus: z.array(z.object({ model: z.string(), speed: z.number() })).readonly(),
  os: z.object({ platform: z.string(), arch: z.string(), release: z.string() }),
});

const info = z.object({
  ...machine.partial().shape,
  version: z.string(),
  apiPort: z.int(),
  BUILD: z.object({ VERSION: z.string() }),
  uptime: z.number().describe('Seconds.'),
  distMode: z.literal('single'),
  headgate: z.object({ instance: z.string() }).describe('What this installation is called.'),
});
const infoShape: Shape = { name: 'SystemInfo', schema: info };

/** `/system/info`, under Cribl's names. */
const wireInfo = ({
  instance,
  uptimeSeconds,
  machine: own,
  ...facts
}: SystemInfo): z.output<typeof info> => ({
  ...facts,
  ...own,
  BUILD: { VERSION: facts.version },
  uptime: uptimeSeconds,
  distMode: 'single',
  headgate: { instance },
});

const instance = z.object({
  id: z.literal('distributed'),
  mode: z
    .literal('single')
    .describe('No process is led by another over the network, as workers of others are.'),
  group: z.string(),
  headgate: z.object({ instance: z.string() }),
});
const instanceShape: Shape = { name: 'SystemInstance', schema: instance };

const wireInstance = ({ id }: { readonly id: string }): z.output<typeof instance> => ({
  ...{ id: 'distributed', mode: 'single', group: DEFAULT_GROUP },
  headgate: { instance: id },
});

export const systemRoutes: readonly Route[] = [
  ...(['', '/distributed'] as const).map(place =>
    route({
      id: place === '' ? 'system.instances' : 'system.instance',
      grouped: 'alike',
      method: 'GET',
      path: `/system/instance${place}`,
      summary: 'Get how processes work together, as Cribl-compatible clients ask for it',
      verb: getInstance,
      answer: item(instanceShape, wireInstance),
    }),
  ),
  route({
    id: 'system.info',
    grouped: 'alike',
    method: 'GET',
    path: '/system/info',
    summary: 'Get what the server runs on',
    verb: getSystemInfo,
    answer: item(infoShape, wireInfo),
  }),
  route({
    id: 'engines.list',
    method: 'GET',
    path: '/system/engines',
    summary: 'List how reading each pipeline goes',
    verb: listEngines,
    answer: list(engineShape, wireEngine),
  }),
];
