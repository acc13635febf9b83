import {
  type AliasEvent,
  CHOMPING_MODE,
  COLLECTION_STYLE,
  EVENT_ID,
  getScalarValue,
  type MappingEvent,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';
import { parseYamlEvents } from './events.ts';
import { offsetOf } from './structure.ts';

/** Where a value lies in a text. Offsets; ends are exclusive. */
export interface TextSpan {
  readonly kind: 'scalar' | 'block-scalar' | 'map' | 'list' | 'alias' | 'empty';
  /** For a collection: written with brackets. */
  readonly flow: boolean;
  /** The key of an entry of a map. */
  readonly key: string | undefined;
  /** Where the entry begins: its key, its dash, or the value itself in a list with brackets. */
  readonly head: number;
  /** Just behind what leads to the value: the colon, the dash, the bracket or comma. */
  readonly lead: number;
  /** Where the value begins; equals `end` for an empty one. */
  readonly start: number;
  /** A collection without brackets ends with its last entry. */
  end: number;
  /** It or something within has an anchor or is an alias. */
  anchored: boolean;
  /** It has an anchor itself. */
  readonly named: boolean;
  readonly entries: TextSpan[];
}

/** A comment, from its `#` to the end of its line. */
export interface YamlComment {
  readonly start: number;
  readonly end: number;
}

export interface Outline {
  /** Undefined when the text holds nothing but comments. */
  readonly root: TextSpan | undefined;
  /** In order. */
  readonly comments: readonly YamlComment[];
}

type Collection = MappingEvent | SequenceEvent;

interface Key {
  readonly name: string;
  readonly head: number;
  readonly end: number;
}

interface Frame {
  readonly span: TextSpan;
  readonly isMap: boolean;
  key: Key | undefined;
}

/** Outlines a text that `readYaml` took without problems. */
export function outline(text: string): Outline {
  const frames: Frame[] = [];
  const tokens: YamlComment[] = [];
  let root: TextSpan | undefined;
  let at = 0;

  function headOf(frame: Frame | undefined, start: number): Pick<TextSpan, 'key' | 'head' | 'lead'> {
    if (frame?.key !== undefined) {
      const { name, head, end } = frame.key;
      const colon = skipBlank(text, end);
      return { key: name, head, lead: text[colon] === ':' ? colon + 1 : end };
    }
    if (frame === undefined) return { key: undefined, head: start, lead: 0 };
    if (frame.span.flow) return { key: undefined, head: start, lead: at };
    const dash = skipBlank(text, at);
    return { key: undefined, head: dash, lead: dash + 1 };
  }

  function place(event: ScalarEvent | AliasEvent | Collection): TextSpan {
    const frame = frames.at(-1);
    const { key, head, lead } = headOf(frame, offsetOf(event));
    const isAlias = event.type === EVENT_ID.ALIAS;
    const span: TextSpan = {
      kind: kindOf(event),
      flow: 'style' in event && event.type !== EVENT_ID.SCALAR && event.style === COLLECTION_STYLE.FLOW,
      key,
      head: head === -1 ? lead : head,
      lead,
      start: startOf(text, event, lead),
      end: -1,
      anchored: isAlias || event.anchorStart !== -1,
      named: !isAlias && event.anchorStart !== -1,
      entries: [],
    };
    span.end = isAlias ? event.anchorEnd : event.type === EVENT_ID.SCALAR ? scalarEnd(text, event, lead) : -1;
    if (frame === undefined) root = span;
    else {
      frame.span.entries.push(span);
      frame.key = undefined;
    }
    return span;
  }

  for (const event of parseYamlEvents(text)) {
    if (event.type === EVENT_ID.DOCUMENT) continue;
    const frame = frames.at(-1);
    if (event.type === EVENT_ID.POP) {
      if (frame === undefined) continue;
      at = close(text, frame.span, at);
      frames.pop();
      inherit(frames.at(-1)?.span, frame.span);
      continue;
    }
    if (event.type === EVENT_ID.SCALAR && frame?.isMap === true && frame.key === undefined) {
      const start = offsetOf(event);
      const end = start === -1 ? at : event.valueEnd + (isQuoted(event) ? 1 : 0);
      frame.key = { name: getScalarValue(text, event), head: start === -1 ? at : start, end };
      tokens.push({ start, end });
      at = end;
      continue;
    }
    const span = place(event);
    if (event.type === EVENT_ID.SCALAR || event.type === EVENT_ID.ALIAS) {
      tokens.push({ start: bodyStart(event, span), end: span.end });
      at = span.end;
      inherit(frame?.span, span);
    } else {
      frames.push({ span, isMap: event.type === EVENT_ID.MAPPING, key: undefined });
      at = span.flow && isBracket(text[span.start]) ? span.start + 1 : span.start;
    }
  }
  return { root, comments: commentsBetween(text, tokens) };
}

function kindOf(event: ScalarEvent | AliasEvent | Collection): TextSpan['kind'] {
  switch (event.type) {
    case EVENT_ID.ALIAS:
      return 'alias';
    case EVENT_ID.MAPPING:
      return 'map';
    case EVENT_ID.SEQUENCE:
      return 'list';
    default:
      if (isBlock(event)) return 'block-scalar';
      return event.valueStart === -1 ? 'empty' : 'scalar';
  }
}

/** A block scalar begins at its `|` or `>`: its event covers only the lines below. */
function startOf(text: string, event: ScalarEvent | AliasEvent | Collection, lead: number): number {
  if (event.type === EVENT_ID.SCALAR && isBlock(event)) return skipTo(text, lead, /[|>]/);
  const offset = offsetOf(event);
  return offset === -1 ? lead : offset;
}

/** Where no comment can be: behind the `|` of a block scalar one can. */
const bodyStart = (event: ScalarEvent | AliasEvent, { start }: TextSpan): number =>
  event.type === EVENT_ID.SCALAR && isBlock(event) ? event.valueStart : start;

function scalarEnd(text: string, event: ScalarEvent, lead: number): number {
  if (event.valueStart === -1) return lead;
  if (!isBlock(event)) return event.valueEnd + (isQuoted(event) ? 1 : 0);
  if (event.chomping === CHOMPING_MODE.KEEP) return event.valueEnd;
  // Empty lines below do not belong to the text.
  const body = text.slice(event.valueStart, event.valueEnd).replace(/(?:[ \t]*\r?\n)+$/, '');
  const end = event.valueStart + body.length;
  return body === '' ? event.valueStart : Math.min(endOfLine(text, end).next, event.valueEnd);
}

const isBlock = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.LITERAL_BLOCK || style === SCALAR_STYLE.FOLDED_BLOCK;
const isQuoted = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;
const isBracket = (character: string | undefined): boolean => character === '{' || character === '[';

/** Sets where the collection ends, and answers it. `[a: b]` holds a map that has no brackets of its own. */
function close(text: string, span: TextSpan, at: number): number {
  span.end =
    span.flow && isBracket(text[span.start])
      ? skipTo(text, at, /[\]}]/) + 1
      : Math.max(at, span.entries.at(-1)?.end ?? span.start);
  return span.end;
}

function inherit(parent: TextSpan | undefined, { anchored }: TextSpan): void {
  if (parent !== undefined) parent.anchored ||= anchored;
}

/** Over white space and comments. */
export function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length && /[\s#]/.test(text.charAt(at)))
    at = text[at] === '#' ? endOfLine(text, at).end : at + 1;
  return at;
}

function skipTo(text: string, from: number, wanted: RegExp): number {
  let at = skipBlank(text, from);
  while (at < text.length && !wanted.test(text.charAt(at))) at = skipBlank(text, at + 1);
  return at;
}

/** A `#` begins one only where no value is, and only behind white space. */
function commentsBetween(text: string, tokens: readonly YamlComment[]): YamlComment[] {
  const comments: YamlComment[] = [];
  let from = 0;
  for (const { start, end } of [...tokens, { start: text.length, end: text.length }]) {
    let at = text.indexOf('#', from);
    while (at !== -1 && at < start) {
      const isComment = at === 0 || /\s/.test(text.charAt(at - 1));
      const lineEnd = endOfLine(text, at).end;
      if (isComment) comments.push({ start: at, end: lineEnd });
      at = text.indexOf('#', isComment ? lineEnd : at + 1);
    }
    from = Math.max(from, end);
  }
  return comments;
}

/** Where the line that `at` lies in ends: before its line break, and where the next one begins. */
export function endOfLine(text: string, at: number): { readonly end: number; readonly next: number } {
  const found = text.indexOf('\n', at);
  if (found === -1) return { end: text.length, next: text.length };
  return { end: found > at && text[found - 1] === '\r' ? found - 1 : found, next: found + 1 };
}

export const startOfLine = (text: string, at: number): number =>
  at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;

/** How far `at` is from the start of its line. */
export const columnOf = (text: string, at: number): number => at - startOfLine(text, at);

/** The line break the text uses, by its first one. */
export function lineBreakOf(text: string): string {
  const found = text.indexOf('\n');
  return found > 0 && text[found - 1] === '\r' ? '\r\n' : '\n';
}
