import { formatDuration } from '../lib/duration.ts';
import type { ComponentKind } from '../pipelines/component.ts';
import type { Evaluation, OpenFor, Subject } from './condition.ts';

/** `type:id`, with the group where it is not the one everybody is in. */
export const nameOf = ({ name, group }: Subject): string =>
  group === 'default' ? name : `${name} in group ${group}`;

/** The same with what it is. */
export const calledAs = (kind: ComponentKind, subject: Subject): string =>
  `${kind === 'input' ? 'Source' : 'Destination'} ${nameOf(subject)}`;

/** How long an incident has lasted, for its end. */
export const lasted = (open: OpenFor | undefined): string => formatDuration(open?.ms ?? 0);

/** The reason, with a colon, where the pipeline itself cannot be read or the name was never seen; else nothing. */
export function becauseOf({ subject, components }: Evaluation): string {
  if (subject.component === undefined) return ': it was never seen';
  const pipeline = components.pipeline(subject.component.pipeline);
  if (pipeline === undefined || pipeline.state !== 'unreachable') return '';
  return `: pipeline unreachable${pipeline.error === null ? '' : `: ${pipeline.error}`}`;
}

/** A point in time (epoch ms) to the second, in UTC: `2026-01-01T00:00:00Z`. */
export const timeOf = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
