import type { Duration } from '../lib/duration.ts';
import type { PipelineState } from '../pipelines/component.ts';
import type { AskedCondition, AskedRule } from './asked.ts';

/** What a condition on pipelines has in its conf. */
export interface PipelineConf {
  /** Id of a pipeline, or a pattern with `*`. */
  readonly name: string;
  readonly timeWindow: Duration;
  readonly notifyOnResolution: boolean;
  readonly __workerGroup?: string | undefined;
}

export type PipelineCondition = AskedCondition<'pipeline', 'pipeline', PipelineConf, PipelineState>;
export type PipelineRule = AskedRule<'pipeline', 'pipeline', PipelineConf, PipelineState>;
