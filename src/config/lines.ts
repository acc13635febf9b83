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
