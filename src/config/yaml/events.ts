import { type Event, parseEvents, YAMLException } from 'js-yaml';

/** Above the depth that `inspectStructure` allows: the parser counts a level more while it tries a key. */
const PARSER_DEPTH = 100;

/** The reason of an error that a tab between values in brackets is met with. */
const DEFICIENT_INDENTATION = 'deficient indentation';

/**
 * The events of a text; throws `YAMLException`. Tabs may stand between values wherever they do not indent (YAML 1.2.2,
 * section 6.2), but the parser takes those within brackets for indentation. A text that fails so is parsed again with
 * blanks in their place, which moves no offset; what is in the values is read from the text itself.
 */
export function parseYamlEvents(text: string): Event[] {
  try {
    return parse(text);
  } catch (error) {
    const spaced = isIndentationError(error) ? withBlanksForTabs(text) : text;
    if (spaced === text) throw error;
    return parse(spaced);
  }
}

const parse = (text: string): Event[] => parseEvents(text, { maxDepth: PARSER_DEPTH });

const isIndentationError = (error: unknown): error is YAMLException =>
  error instanceof YAMLException && error.reason === DEFICIENT_INDENTATION;

/** Tabs that begin a line, or follow the marks of block collections that do, indent what is behind them. */
const LINE = /^((?:[ \t]|[-?:](?=[ \t]))*)(.*)$/gm;

const withBlanksForTabs = (text: string): string =>
  text.replace(LINE, (_line, lead: string, rest: string) => lead + rest.replaceAll('\t', ' '));

/** Why a text is no YAML. The full message shows the lines around, secrets included. */
export function reasonOfYamlError({ reason, mark }: YAMLException, text: string): string {
  const position = mark?.position ?? 0;
  const lead = text.slice(text.lastIndexOf('\n', position - 1) + 1, position);
  return reason === DEFICIENT_INDENTATION && /^[ \t]*\t[ \t]*$/.test(lead)
    ? 'tab characters must not be used in indentation'
    : reason;
}
