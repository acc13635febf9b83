import * as z from 'zod';
import type { PipelineState } from '../../pipelines/component.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const engine = z.object({
  id: z.string().describe('Id of the pipeline.'),
  engine: z.string(),
  mode: z.enum(['pull', 'push']).describe('Whether it is read or sends by itself.'),
  group: z.string(),
  url: z.string().optional(),
  state: z.enum(['waiting', 'reachable', 'unreachable']),
  lastAt: z.iso.datetime().optional().describe('When it was last read, or last sent.'),
  error: z.string().optional(),
  instances: z.int().min(0),
  components: z.int().min(0),
});
export const engineShape: Shape = { name: 'Engine', schema: engine };

export const wireEngine = (state: PipelineState): z.output<typeof engine> => ({
  id: state.id,
  engine: state.engine,
  mode: state.mode,
  group: state.group,
  ...(state.url !== null && { url: state.url }),
  state: state.state,
  ...(state.lastAt !== null && { lastAt: isoTime(state.lastAt) }),
  ...(state.error !== null && { error: state.error }),
  instances: state.instances,
  components: state.components,
});
