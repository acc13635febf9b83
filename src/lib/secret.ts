import { inspect } from 'node:util';

/** What every read shows in place of a secret. */
export const MASK = '********';

/** A value that prints as its mask wherever it is logged, serialised or joined; showing it takes `reveal()`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}
