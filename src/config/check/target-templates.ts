import type { EvaluationMeter, FieldValues } from '../../expressions/evaluation.ts';
import { resolveAliases } from '../../lib/aliases.ts';
import { reasonOf } from '../../lib/errors.ts';
import { type CompiledSetting, settingsAt, type TemplateSetting } from '../../targets/declarations.ts';
import { findTargetType } from '../../targets/index.ts';
import { didYouMean, type ItemFinding, quote } from '../problems.ts';
import { asWritten, childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { unescapedFields, unescapedMessage } from './json-texts.ts';
import { areTrialsOver } from './trials.ts';

/** Fields that events may have; undefined where they may have any. */
export interface KnownFields {
  /** As they are sent. */
  readonly outgoing: ReadonlySet<string> | undefined;
  /** With those that only Headgate sees. */
  readonly whole: ReadonlySet<string> | undefined;
}

/** Variables of a target's templates that no event has. */
export const unknownTargetVariables = ({ path, value }: ConfigItem, known: KnownFields): ItemFinding[] =>
  templatesOf(value).flatMap(template => {
    const fields = fieldsFor(template.declared, known);
    return fields === undefined
      ? []
      : unknownVariables(template.compiled.names, fields, [...path, ...template.path]);
  });

export const unknownVariables = (
  names: readonly string[],
  known: ReadonlySet<string>,
  path: Path,
): ItemFinding[] =>
  names
    .filter(name => !known.has(name))
    .map(name => ({
      path,
      message: () => `unknown variable ${quote(name)}${didYouMean(name, known)}`,
    }));

function fieldsFor({ fields }: TemplateSetting, known: KnownFields): ReadonlySet<string> | undefined {
  if (fields === 'any') return undefined;
  if (fields === 'outgoing-event') return known.outgoing;
  return fields === 'whole-event' ? known.whole : new Set(fields);
}

/**
 * Evaluates a target's templates on outgoing events of each condition: the first that fails says enough. Of those that
 * make JSON, reports the text fields that can add members to it.
 */
export const evaluateTargetTemplates = (
  { path, value }: ConfigItem,
  samples: readonly FieldValues[],
  meter: EvaluationMeter,
): ItemFinding[] =>
  templatesOf(value).flatMap(template => {
    const { evaluate, names } = template.compiled;
    if (evaluate === undefined) return [];
    const place = [...path, ...template.path];
    for (const sample of samples) {
      if (areTrialsOver(meter)) return [];
      const failure = failureOf(() => evaluate(sample, meter));
      if (failure !== undefined) return [failureFinding(failure, sample, place)];
    }
    if (template.isEscaped) return [];
    const fields = new Set(samples.flatMap(sample => unescapedFields(evaluate, names, sample, meter)));
    return [...fields].map(name => ({ path: place, message: unescapedMessage(name) }));
  });

export const failureFinding = (failure: string, sample: FieldValues, path: Path): ItemFinding => ({
  path,
  message: `fails on an event of '${String(sample.condition)}': ${failure}`,
});

function failureOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

interface FoundTemplate {
  readonly declared: TemplateSetting;
  readonly compiled: CompiledSetting;
  /** A text that it gives is written as a text in JSON. */
  readonly isEscaped: boolean;
  /** As the file writes it. */
  readonly path: Path;
}

/** The texts that can be read, whatever else is wrong with the target. */
function templatesOf(value: object): FoundTemplate[] {
  const type = childOf(value, 'type');
  const found = typeof type === 'string' ? findTargetType(type) : undefined;
  if (found === undefined) return [];
  const { schema, templates } = found;
  const settings = resolveAliases(schema, value, undefined);
  return templates.flatMap(declared => {
    const isEscaped = declared.isEscaped?.(settings) === true;
    return settingsAt(settings, declared.path).flatMap(({ path, value: text }) => {
      const compiled = typeof text === 'string' ? declared.compile(text) : undefined;
      const place = asWritten(schema, path, value);
      return compiled === undefined ? [] : [{ declared, compiled, isEscaped, path: place }];
    });
  });
}
