import { DEFAULT_LIMITS, type EvaluationMeter, type FieldValues } from '../expressions/evaluation.ts';
import {
  type CompiledExpression,
  compileExpression,
  compileExpressionOrText,
  type Expression,
} from '../expressions/expression.ts';
import { compileTemplate } from '../expressions/template.ts';

/** Matches every item of a list in a `SettingPath`. */
export const EACH = Symbol('each');

/** Keys that lead to a setting, by its own names: `['routes', EACH, 'output']`. */
export type SettingPath = readonly (string | typeof EACH)[];

/** A setting that names a file or folder of the machine. */
export interface FileSetting {
  readonly path: SettingPath;
  /** It cannot leave the folder that the process gives for it, so that it is nobody else's file. */
  readonly isConfined?: true;
}

/** A setting with an expression or a template over fields. */
export interface TemplateSetting {
  readonly path: SettingPath;
  /** Fields it may read: those of an event as it is sent, those of the event before that, any, or the ones listed. */
  readonly fields: 'outgoing-event' | 'whole-event' | 'any' | readonly string[];
  /** What it may read besides, which no event has. */
  readonly ownFields?: readonly string[];
  /** Undefined for a text that is broken: its schema reports it. */
  compile(text: string): CompiledSetting | undefined;
  /** True where a text that it gives becomes a text in JSON, whatever it holds; never when left out. */
  readonly isEscaped?: (settings: unknown) => boolean;
}

export interface CompiledSetting {
  /** Fields it reads. */
  readonly names: readonly string[];
  /** Evaluates it on an outgoing event and throws where it fails; without it, samples are not tried. */
  readonly evaluate?: (event: FieldValues, meter?: EvaluationMeter) => unknown;
}

/** The id of another target that a target sends to. */
export interface TargetReference {
  readonly id: string;
  /** Keys that lead to it, by own names of settings. */
  readonly path: readonly PropertyKey[];
  /** No default target is used as its fallback. */
  readonly isRequired: boolean;
}

interface FoundSetting {
  readonly path: readonly PropertyKey[];
  readonly value: unknown;
}

/** Reads the values at a path in settings as they were written, valid or not. */
export function settingsAt(settings: unknown, path: SettingPath): FoundSetting[] {
  let found: FoundSetting[] = [{ path: [], value: settings }];
  for (const step of path) found = found.flatMap(one => childrenAt(one, step));
  return found;
}

function childrenAt({ path, value }: FoundSetting, step: SettingPath[number]): FoundSetting[] {
  if (step === EACH)
    return Array.isArray(value) ? value.map((item, index) => ({ path: [...path, index], value: item })) : [];
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return [];
  return [{ path: [...path, step], value: Reflect.get(value, step) }];
}

/** Finds the ids of other targets at these paths. */
export const referencesAt = (
  settings: object,
  paths: readonly SettingPath[],
  isRequired: boolean,
): TargetReference[] =>
  paths
    .flatMap(path => settingsAt(settings, path))
    .flatMap(({ path, value }) => (typeof value === 'string' ? [{ id: value, path, isRequired }] : []));

type ExpressionSetting = Pick<TemplateSetting, 'fields' | 'path' | 'isEscaped' | 'ownFields'> & {
  /** By default an expression or a bare text with `${…}` places. */
  readonly compile?: (text: string) => CompiledExpression;
  /** Throws where the expression fails on an outgoing event; without it, samples are not tried. */
  readonly evaluate?: (expression: Expression, event: FieldValues) => unknown;
};

/** A setting that holds an expression. */
export const expressionSetting = ({
  path,
  fields,
  compile = compileExpressionOrText,
  evaluate,
  isEscaped,
  ownFields,
}: ExpressionSetting): TemplateSetting => ({
  path,
  fields,
  ...(ownFields && { ownFields }),
  ...(isEscaped && { isEscaped }),
  compile(text) {
    const compiled = compile(text);
    if (!compiled.ok) return undefined;
    const { expression } = compiled;
    return {
      names: expression.names,
      ...(evaluate && { evaluate: (event, meter) => evaluate(metered(expression, meter), event) }),
    };
  },
});

/** The expression, what it takes counted. */
const metered = (expression: Expression, meter: EvaluationMeter | undefined): Expression => ({
  ...expression,
  evaluate: (fields, limits = DEFAULT_LIMITS) => expression.evaluate(fields, { ...limits, meter }),
});

/** A setting that only holds a condition of events, which is false where a field is missing. */
export const filterSetting = (path: SettingPath): TemplateSetting =>
  expressionSetting({ path, fields: 'any', compile: compileExpression });

/** A setting that holds a text with `${…}` places. */
export const templateSetting = ({
  path,
  fields,
}: Pick<TemplateSetting, 'fields' | 'path'>): TemplateSetting => ({
  path,
  fields,
  compile(text) {
    const compiled = compileTemplate(text);
    return compiled.ok ? { names: compiled.template.names } : undefined;
  },
});
