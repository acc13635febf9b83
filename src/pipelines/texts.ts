import { unsliced } from '../lib/unsliced.ts';

/** Texts that many have in common, each kept once and by a number for as long as anybody uses it. */
export interface Texts {
  /** Its number, or -1 when nobody uses it. */
  find(text: string): number;
  at(number: number): string;
  /** One user more. */
  take(text: string): number;
  /** One user less; of the last one the number is given away again. */
  release(number: number): void;
}

export function createTexts(): Texts {
  const numbers = new Map<string, number>();
  const texts: string[] = [];
  const uses: number[] = [];
  const free: number[] = [];

  function add(text: string): number {
    const number = free.pop() ?? texts.length;
    const kept = unsliced(text);
    texts[number] = kept;
    uses[number] = 0;
    numbers.set(kept, number);
    return number;
  }

  return {
    find: text => numbers.get(text) ?? -1,
    at: number => texts[number] ?? '',
    take(text) {
      const number = numbers.get(text) ?? add(text);
      uses[number] = (uses[number] ?? 0) + 1;
      return number;
    },
    release(number) {
      const left = (uses[number] ?? 0) - 1;
      uses[number] = left;
      if (left > 0) return;
      numbers.delete(texts[number] ?? '');
      texts[number] = '';
      free.push(number);
    },
  };
}
