import type { EvaluationMeter, FieldValues } from '../../expressions/evaluation.ts';
import { resolveAliases } from '../../lib/aliases.ts';
import { reasonOf } from '../../lib/errors.ts';
import { type CompiledSetting, settingsAt, type TemplateSetting } from '../../targets/declarations.ts';
import { findTargetType } from '../../targets/index.ts';
import { didYouMean, type ItemFinding, quote } from '../problems.ts';
import { asWritten, childOf } from '../schema-walk.ts';
import type { ConfigItem } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
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
      : unknownVariables(
          template.compiled.names.filter(name => template.declared.ownFields?.includes(name) !== true),
          fields,
          [...path, ...template.path],
        );
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

type Evaluate = (event: FieldValues, meter: EvaluationMeter) => unknown;

/** Texts that add members where they are not escaped: within quotes, and without. */
const HOSTILE = ['","x":"', '0,"x":0'];
const PLAIN = 'text';
/** A text that is JSON with quotes around it and without. */
const HARMLESS = '0';

/**
 * Finds the text fields whose values can add members to a text that is JSON otherwise, because they stand outside of
 * quotes or are put together with `+`. Each is tried with a plain and with hostile texts: numbers, objects and texts in
 * quotes make the same JSON of them.
 */
function unescapedFields(
  evaluate: Evaluate,
  names: readonly string[],
  sample: FieldValues,
  meter: EvaluationMeter,
): string[] {
  const texts = names.filter(name => typeof sample[name] === 'string');
  const harmless = { ...sample, ...Object.fromEntries(texts.map(name => [name, HARMLESS])) };
  return texts.filter(name => {
    if (areTrialsOver(meter)) return false;
    const shapeWith = (text: string): string | undefined =>
      jsonShape(resultOf(evaluate, { ...harmless, [name]: text }, meter));
    const plain = shapeWith(PLAIN);
    if (plain === undefined) return shapeWith(HARMLESS) !== undefined;
    return HOSTILE.some(text => shapeWith(text) !== plain);
  });
}

const unescapedMessage = (name: string): string =>
  `the text of ${quote(name)} is not escaped in this JSON, so that an event can add members to it or break it: ` +
  `put its place between quotes, or write \${json(${name})}`;

function resultOf(evaluate: Evaluate, event: FieldValues, meter: EvaluationMeter): unknown {
  // To make the event takes a step for each of its fields.
  meter.spent += Object.keys(event).length;
  try {
    return evaluate(event, meter);
  } catch {
    return undefined;
  }
}

/** Names and kinds of everything in an object or a list that a text holds; undefined for every other value. */
function jsonShape(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.stringify(shapeOf(JSON.parse(text)));
  } catch {
    return undefined;
  }
}

/** How long a list is may depend on the text. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map(item => JSON.stringify(shapeOf(item))))].sort();
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shapeOf(item)]));
}
