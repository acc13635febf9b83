import {
  CORE_SCHEMA,
  constructFromEvents,
  defineScalarTag,
  type Event,
  floatCoreTag,
  intCoreTag,
  NOT_RESOLVED,
  YAMLException,
} from 'js-yaml';
import { reasonOf } from '../../lib/errors.ts';
import { isExactNumber } from '../../lib/exact-numbers.ts';
import { parseYamlEvents, reasonOfYamlError } from './events.ts';
import { createTextPositions, type TextPosition, type TextPositions } from './places.ts';
import { drawTree } from './spots.ts';
import {
  directiveOffset,
  inspectStructure,
  mayHoldTooManyValues,
  type StructureFinding,
  TOO_MANY_VALUES,
} from './structure.ts';

type NumberTag = typeof intCoreTag;

/** A number that would be another one, or that JSON does not know, is a text. */
const exact = (tag: NumberTag): NumberTag =>
  defineScalarTag(tag.tagName, {
    ...tag,
    resolve(source, isExplicit, name) {
      const value = tag.resolve(source, isExplicit, name);
      return value !== NOT_RESOLVED && isKept(source, value) ? value : NOT_RESOLVED;
    },
  });

/** Octal and hexadecimal ones are whole. */
const isKept = (source: string, value: number): boolean =>
  /^0[ox]/.test(source) ? Number.isSafeInteger(value) : isExactNumber(source);

/** The core schema of YAML 1.2.2 (section 10.3), whose numbers are read as those of JSON are. */
const EXACT_CORE_SCHEMA = CORE_SCHEMA.withTags(exact(intCoreTag), exact(floatCoreTag));

export interface YamlProblem extends TextPosition {
  readonly message: string;
}

/** A text that was read. `value` is undefined when the text holds nothing but comments. */
interface YamlDocument {
  readonly value: unknown;
  readonly places: TextPositions;
}

export interface YamlResult {
  /** Present also beside duplicate keys, the last of which then counts, so that what else is wrong shows. */
  readonly document: YamlDocument | undefined;
  readonly problems: readonly YamlProblem[];
}

/**
 * Reads one YAML 1.2 document (core schema) of plain lists, maps and scalars. Refused: tags, directives,
 * further documents, keys that are no scalars, duplicate and merge keys, and whatever is too deep or, its
 * aliases counted as what they stand for, too large. Never throws.
 */
export function readYaml(text: string): YamlResult {
  if (mayHoldTooManyValues(text)) return refused([{ line: 1, column: 1, message: TOO_MANY_VALUES }]);
  const directive = directiveOffset(text);
  if (directive !== -1)
    return refused(located(createTextPositions(text), [{ offset: directive, message: DIRECTIVE }]));
  try {
    return construct(text);
  } catch (error) {
    return refused([yamlProblem(error, text)]);
  }
}

const DIRECTIVE = 'directives (lines that begin with "%") are not supported; remove it';

function construct(text: string): YamlResult {
  const events = parseYamlEvents(text);
  const findings = inspectStructure(text, events);
  if (findings.length > 0) return refused(located(createTextPositions(text), findings));
  // The events would be many times as large, and to parse them again takes as long as this does ten times.
  const tree = drawTree(text, events);
  const places = createTextPositions(text, () => tree);
  try {
    return { document: { value: build(text, events, false), places }, problems: [] };
  } catch (error) {
    const duplicates = places.duplicates();
    if (duplicates.length === 0) throw error;
    return {
      document: { value: build(text, events, true), places },
      problems: located(places, duplicates),
    };
  }
}

/** The places in a text that was read before; it is parsed again at the first question. */
export const positionsIn = (text: string): TextPositions =>
  createTextPositions(text, () => drawTree(text, parseYamlEvents(text)));

/** With `lastWins` a key may stand twice. */
const build = (text: string, events: Event[], lastWins: boolean): unknown =>
  constructFromEvents(events, { source: text, schema: EXACT_CORE_SCHEMA, json: lastWins }).at(0);

const refused = (problems: readonly YamlProblem[]): YamlResult => ({ document: undefined, problems });

const located = (places: TextPositions, findings: readonly StructureFinding[]): YamlProblem[] =>
  findings.map(({ offset, message }) => ({ ...places.at(offset), message }));

function yamlProblem(error: unknown, text: string): YamlProblem {
  if (!(error instanceof YAMLException))
    return { line: 1, column: 1, message: `cannot be read as YAML: ${reasonOf(error)}` };
  const { line = 0, column = 0 } = error.mark ?? {};
  return { line: line + 1, column: column + 1, message: `YAML: ${reasonOfYamlError(error, text)}` };
}
