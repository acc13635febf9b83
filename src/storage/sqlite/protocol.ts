import type { Plan, Step } from '../operations/plan.ts';
import type { Lease } from '../stores/leases.ts';

/** Requests of the main thread; each worker answers them in their order. */
export type WorkerRequest =
  | {
      readonly kind: 'open-writer';
      readonly database: string;
      readonly lock: string;
      /** What is committed need not outlive the system. */
      readonly isTemporary: boolean;
    }
  | { readonly kind: 'open-reader'; readonly database: string }
  | { readonly kind: 'query'; readonly sql: string; readonly parameters: readonly unknown[] }
  /** A query that must not run outside the transaction it was meant for. */
  | { readonly kind: 'query-in-transaction'; readonly sql: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'rollback' }
  | { readonly kind: 'batch'; readonly batch: PackedBatch }
  | { readonly kind: 'close' };

export interface RequestEnvelope {
  readonly id: number;
  readonly request: WorkerRequest;
}

/** An error as it crosses threads. `code` is SQLite's, Node's, or one of those below. */
export interface WorkerFailure {
  readonly code: string;
  readonly message: string;
}

/** A step changed another number of rows than its operation expects. */
export const ROW_COUNT_MISMATCH = 'NOT_AS_EXPECTED';
/** The lease of a plan is over or another's. */
export const LEASE_LOST = 'LEASE_LOST';
/** Another process holds the lock of the data directory. */
export const ALREADY_IN_USE = 'ALREADY_IN_USE';

export interface WorkerResponse {
  readonly id: number;
  readonly failure: WorkerFailure | null;
  readonly rows: readonly unknown[];
  readonly changes: number;
  /** For each plan of a batch null, or why it was refused. */
  readonly refusals: readonly (WorkerFailure | null)[];
}

/** Numbers of a step in `Batch.steps`: its text, the changes it must make, how many values it takes, who replaces it. */
const STEP_WIDTH = 4;

/**
 * Plans as they cross threads: copying one list of values and some numbers is cheaper than copying each step with its
 * text.
 */
export interface PackedBatch {
  /** The statements, each once. */
  readonly texts: readonly string[];
  /** Per step: index of its text; the number of rows it must change, plus 1, or 0 for any; how many values it takes; the plan that writes the same row again, plus 1, or 0. */
  readonly steps: Int32Array;
  /** The index of the first step of each plan, and the end of the last. */
  readonly firstSteps: Int32Array;
  /** The index of the first value of each plan, and the end of the last. */
  readonly firstValues: Int32Array;
  readonly values: Step['parameters'];
  /** The lease of each plan. */
  readonly leases: readonly (Lease | undefined)[];
}

export function pack(plans: readonly Pick<Plan, 'steps' | 'lease'>[]): PackedBatch {
  const texts = new Map<string, number>();
  const steps: number[] = [];
  const firstSteps = [0];
  const firstValues = [0];
  const values: Step['parameters'][number][] = [];
  /** Where the last step stands that writes a row as a whole. */
  const lastOf = new Map<string, number>();
  plans.forEach((plan, index) => {
    for (const { sql, parameters, expect = -1, replaces } of plan.steps) {
      const text = texts.get(sql) ?? texts.size;
      texts.set(sql, text);
      const before = replaces === undefined ? undefined : lastOf.get(replaces);
      if (before !== undefined) steps[before + STEP_WIDTH - 1] = index + 1;
      if (replaces !== undefined) lastOf.set(replaces, steps.length);
      steps.push(text, expect + 1, parameters.length, 0);
      for (const value of parameters) values.push(value);
    }
    firstSteps.push(steps.length / STEP_WIDTH);
    firstValues.push(values.length);
  });
  return {
    texts: [...texts.keys()],
    steps: Int32Array.from(steps),
    firstSteps: Int32Array.from(firstSteps),
    firstValues: Int32Array.from(firstValues),
    values,
    leases: plans.map(plan => plan.lease),
  };
}

/**
 * Runs the steps of the plans from `from` to before `to`, which are written together or not at all: a row that one of
 * them writes again as a whole is written once.
 */
export function runSteps(
  batch: PackedBatch,
  { from, to }: { readonly from: number; readonly to: number },
  run: (text: string, parameters: readonly unknown[], expect: number | undefined) => void,
): void {
  const { texts, steps, firstSteps, firstValues, values } = batch;
  let value = firstValues[from] ?? 0;
  const last = (firstSteps[to] ?? 0) * STEP_WIDTH;
  for (let at = (firstSteps[from] ?? 0) * STEP_WIDTH; at < last; at += STEP_WIDTH) {
    const [text = 0, expected = 0, count = 0, replacedBy = 0] = steps.subarray(at, at + STEP_WIDTH);
    const isReplaced = replacedBy > 0 && replacedBy - 1 < to;
    if (!isReplaced)
      run(texts[text] ?? '', values.slice(value, value + count), expected === 0 ? undefined : expected - 1);
    value += count;
  }
}
