import {
  type AliasEvent,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';

/** Values in a document, an alias counting as often as what it stands for. */
const MAX_VALUES = 400_000;
/** Values in one of the things that a section lists, counted alike. */
const MAX_ITEM_VALUES = 100_000;
/** Keys of one map. */
const MAX_KEYS = 100_000;
/** Collections around such a thing: the document, its map, the section. */
const ITEM_DEPTH = 3;
/** Characters of all texts together, counted alike: a long text behind many aliases is work for every check. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
const MAX_DEPTH = 64;
const MAX_FINDINGS = 100;

/** Something refused at an offset of the text. */
export interface StructureFinding {
  readonly offset: number;
  readonly message: string;
}

interface Frame {
  readonly offset: number;
  readonly mapping: boolean;
  /** Keys and values that have ended, or items. */
  ended: number;
  atKey: boolean;
  /** Levels of collections, this one included. */
  height: number;
  readonly anchor: string | undefined;
  readonly before: Total;
}

interface Total {
  readonly values: number;
  readonly characters: number;
}

/** Undefined while the anchor's own value is still open. */
type Anchored = (Total & { readonly height: number }) | undefined;

/** True for a text that has to be turned away before it is parsed: that takes some 250 bytes of memory for each value. */
export const mayHoldTooManyValues = (text: string): boolean => mostValuesIn(text) > MAX_VALUES;

/** True where an alias may stand, which counts for as much as the value it stands for. */
export const mayHoldAliases = (text: string): boolean => /(?:^|[\s,[{])\*\S/.test(text);

/** An upper bound of the values in a text without aliases, without parsing it. */
export function mostValuesIn(text: string): number {
  let separators = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    // Nearly all characters of a file are letters and spaces.
    if (code < COMMA || (code > QUESTION && code !== OPEN_LIST && code !== OPEN_MAP)) continue;
    if (code === COMMA || code === OPEN_LIST || code === OPEN_MAP) separators++;
    else if (code === DASH || code === QUESTION) separators += isBlank(text, index + 1) ? 1 : 0;
    else if (code === COLON) separators += isBlank(text, index + 1) || isQuote(text, index - 1) ? 1 : 0;
  }
  return separators;
}

const COMMA = 0x2c;
const DASH = 0x2d;
const COLON = 0x3a;
const QUESTION = 0x3f;
const OPEN_LIST = 0x5b;
const OPEN_MAP = 0x7b;

const isBlank = (text: string, index: number): boolean => !(text.charCodeAt(index) > 0x20);
const isQuote = (text: string, index: number): boolean => text[index] === '"' || text[index] === "'";

/**
 * The offset of a directive before the document, or -1. The parser drops those it does not know without a
 * trace, so they are looked for in the text.
 */
export function directiveOffset(text: string): number {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? undefined : end);
    if (line.startsWith('%')) return at;
    if (!/^[ \t]*(?:#|\r?$)/.test(line)) return -1;
    if (end === -1) return -1;
    at = end + 1;
  }
  return -1;
}

/** Finds what a configuration file must not hold although YAML allows it. Stops when a limit is passed. */
export const inspectStructure = (text: string, events: readonly Event[]): StructureFinding[] =>
  new StructureInspector(text).inspect(events);

class StructureInspector {
  readonly #text: string;
  readonly #findings: StructureFinding[] = [];
  /** The collections around the present event. */
  readonly #frames: Frame[] = [];
  readonly #anchors = new Map<string, Anchored>();
  #documents = 0;
  #values = 0;
  #characters = 0;
  #isStopped = false;

  constructor(text: string) {
    this.#text = text;
  }

  inspect(events: readonly Event[]): StructureFinding[] {
    for (const event of events) {
      this.#take(event);
      if (this.#values > MAX_VALUES || this.#characters > MAX_CHARACTERS)
        this.#stop(offsetOf(event), TOO_MANY_VALUES);
      if (this.#isStopped) break;
    }
    return this.#findings;
  }

  #take(event: Event): void {
    if (event.type === EVENT_ID.DOCUMENT) {
      this.#documents++;
      this.#open(0, false, undefined);
    } else if (event.type === EVENT_ID.POP) {
      const frame = this.#frames.pop();
      if (frame !== undefined) this.#close(frame);
    } else if (this.#documents > 1) {
      const offset = offsetOf(event);
      this.#stop(offset < 0 ? this.#text.length : offset, 'a second document begins here; a file holds one');
    } else if (event.type === EVENT_ID.ALIAS) {
      this.#takeAlias(event);
    } else {
      if (event.tagStart !== -1)
        this.#report(event.tagStart, 'tags are not supported; remove the part that begins with "!"');
      const anchor =
        event.anchorStart === -1 ? undefined : this.#text.slice(event.anchorStart, event.anchorEnd);
      if (event.type === EVENT_ID.SCALAR) this.#takeScalar(event, anchor);
      else this.#takeCollection(event, anchor);
    }
  }

  #takeScalar(event: ScalarEvent, anchor: string | undefined): void {
    const length = event.valueEnd - event.valueStart;
    this.#values++;
    this.#characters += length;
    const refusal = this.#isAtKey() ? refusedKey(this.#text, event) : undefined;
    if (refusal !== undefined) this.#report(offsetOf(event), refusal);
    if (anchor !== undefined) this.#anchors.set(anchor, { values: 1, characters: length, height: 0 });
    this.#end(0);
  }

  #takeAlias(event: AliasEvent): void {
    const offset = offsetOf(event);
    const name = this.#text.slice(event.anchorStart, event.anchorEnd);
    const anchored = this.#anchors.get(name);
    if (this.#isAtKey()) this.#report(offset, 'an alias cannot be a key; write the key out');
    else if (!this.#anchors.has(name))
      this.#report(offset, `the alias '*${name}' has no anchor '&${name}' before it`);
    else if (anchored === undefined) this.#report(offset, `the alias '*${name}' refers to itself`);
    this.#values += anchored?.values ?? 1;
    this.#characters += anchored?.characters ?? 0;
    const height = anchored?.height ?? 0;
    if (this.#frames.length + height > MAX_DEPTH + 1) this.#stop(offset, TOO_DEEP);
    this.#end(height);
  }

  #takeCollection(event: SequenceEvent | MappingEvent, anchor: string | undefined): void {
    if (this.#isAtKey()) this.#report(event.start, 'a list or map cannot be a key');
    this.#open(event.start, event.type === EVENT_ID.MAPPING, anchor);
    this.#values++;
  }

  #isAtKey(): boolean {
    return this.#frames.at(-1)?.atKey === true;
  }

  #open(offset: number, mapping: boolean, anchor: string | undefined): void {
    if (this.#frames.length > MAX_DEPTH) this.#stop(offset, TOO_DEEP);
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const before = { values: this.#values, characters: this.#characters };
    this.#frames.push({ offset, mapping, ended: 0, atKey: mapping, height: 1, anchor, before });
  }

  #close({ offset, mapping, ended, anchor, height, before }: Frame): void {
    if (mapping && ended > 2 * MAX_KEYS) this.#stop(offset, `has more than ${MAX_KEYS} keys in one map`);
    if (this.#frames.length === ITEM_DEPTH && this.#values - before.values > MAX_ITEM_VALUES)
      this.#stop(offset, `holds too many values: at most ${MAX_ITEM_VALUES} may stand in one place`);
    if (anchor !== undefined)
      this.#anchors.set(anchor, {
        values: this.#values - before.values,
        characters: this.#characters - before.characters,
        height,
      });
    this.#end(height);
  }

  /** Ends a value: in a mapping keys and values alternate. */
  #end(height: number): void {
    const parent = this.#frames.at(-1);
    if (parent === undefined) return;
    parent.height = Math.max(parent.height, height + 1);
    parent.ended++;
    if (parent.mapping) parent.atKey = !parent.atKey;
  }

  #report(offset: number, message: string): void {
    this.#findings.push({ offset: Math.max(0, offset), message });
    this.#isStopped ||= this.#findings.length >= MAX_FINDINGS;
  }

  #stop(offset: number, message: string): void {
    this.#report(offset, message);
    this.#isStopped = true;
  }
}

export const TOO_MANY_VALUES = `holds too many values: at most ${MAX_VALUES}, each alias counting as what it stands for`;
const TOO_DEEP = `is nested too deeply: at most ${MAX_DEPTH} levels`;

/** Where the value itself begins; -1 for an empty value. */
export function offsetOf(event: Event): number {
  switch (event.type) {
    case EVENT_ID.SCALAR:
      return isQuoted(event) ? event.valueStart - 1 : event.valueStart;
    case EVENT_ID.ALIAS:
      return event.anchorStart - 1;
    case EVENT_ID.MAPPING:
    case EVENT_ID.SEQUENCE:
      return event.start;
    default:
      return -1;
  }
}

const isQuoted = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;

function refusedKey(text: string, event: ScalarEvent): string | undefined {
  const length = event.valueEnd - event.valueStart;
  if (length === 2 && text.startsWith('<<', event.valueStart))
    return "merge keys ('<<') are not supported; write the keys out";
  // Only a double-quoted key can hide the name behind escapes.
  const maybePrototype =
    text.startsWith('__proto__', event.valueStart) || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
  if (maybePrototype && getScalarValue(text, event) === '__proto__')
    return "the key '__proto__' is not allowed";
  return undefined;
}
