import type { EvaluationMeter } from '../../expressions/evaluation.ts';

/** Steps of all trials of one check. */
const MOST_STEPS = 500_000;

/** True when no more is tried on samples, as that takes long and can only bring warnings. */
export const areTrialsOver = ({ spent }: EvaluationMeter): boolean => spent > MOST_STEPS;
