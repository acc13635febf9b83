import type { PipelineState } from '../../pipelines/component.ts';
import { isoTime } from '../envelope.ts';

export const wireEngine = (state: PipelineState): object => ({
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
