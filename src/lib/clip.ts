/** The text with what is no Unicode, such as half a character, replaced: strict receivers refuse it. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/** JSON whose texts and names are Unicode throughout. */
export const wellFormedJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'string') return wellFormed(inner);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, held]) => [wellFormed(name), held]));
  });

/**
 * The longest beginning of a text that takes at most `most` UTF-16 units, counted after `written` has put each
 * character as the receiver wants it. What is cut ends with an ellipsis, and no character is cut in two.
 */
export function clip(text: string, most: number, written: (character: string) => string = same): string {
  const characters = wellFormed(text);
  let whole = '';
  let cut = '';
  for (const character of characters) {
    whole += written(character);
    if (whole.length > most) return `${cut}${ELLIPSIS}`;
    if (whole.length <= most - ELLIPSIS.length) cut = whole;
  }
  return whole;
}

const same = (character: string): string => character;
const ELLIPSIS = '…';
