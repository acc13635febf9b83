import { inspect } from 'node:util';

/** Shown by every read in place of a secret. */
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

/** An address that is a secret from its path on: it prints as `https://host/********`. */
export class SecretUrl extends Secret {
  override toString(): string {
    return `${new URL(this.reveal()).origin}/${MASK}`;
  }

  override toJSON(): string {
    return this.toString();
  }

  override [inspect.custom](): string {
    return this.toString();
  }
}

/** The address of a database: it prints with its password masked, as `postgres://user:********@host/database`. */
export class DatabaseUrl extends Secret {
  override toString(): string {
    const { protocol, username, password, host, pathname, search } = new URL(this.reveal());
    if (password === '') return this.reveal();
    return `${protocol}//${username}:${MASK}@${host}${pathname}${search}`;
  }

  override toJSON(): string {
    return this.toString();
  }

  override [inspect.custom](): string {
    return this.toString();
  }
}

/** Every secret in a value, however deep. */
export function secretsIn(value: unknown): readonly Secret[] {
  if (value instanceof Secret) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(secretsIn);
}

/** A shorter secret is not looked for in texts: it stands there for something else as well. */
export const LEAST_MASKED = 8;

/**
 * A text without these secrets, in the forms in which messages carry them: plain, in JSON, in an address, in Base64.
 * Secrets of less than 8 characters are left: they are masked by the fields they stand in.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  if (secrets.length === 0 || text.length < LEAST_MASKED) return text;
  let forms = formsOf.get(secrets);
  if (forms === undefined) {
    forms = maskedForms(secrets);
    formsOf.set(secrets, forms);
  }
  return forms.reduce((masked, form) => masked.replaceAll(form, MASK), text);
}

/** By the list, as that of a target is asked for with each of its answers. */
const formsOf = new WeakMap<readonly string[], readonly string[]>();

/** The longest first, as a short one may be a part of it. */
function maskedForms(secrets: readonly string[]): readonly string[] {
  const long = secrets.filter(({ length }) => length >= LEAST_MASKED);
  const forms = long.flatMap(secret => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.replace(/\p{Surrogate}/gu, '')),
    Buffer.from(secret).toString('base64'),
  ]);
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

/** A secret, and where it is an address the parts of it that receivers return. */
export function secretPieces(secret: string): readonly string[] {
  if (!/^https?:/i.test(secret) || !URL.canParse(secret)) return [secret];
  const { href, pathname, search, searchParams } = new URL(secret);
  // A segment such as `services` is a word, and stands for something else as well.
  const segments = pathname.split('/').filter(segment => !/^[a-z]*$/.test(segment));
  return [secret, href, pathname + search, ...searchParams.values(), ...segments, ...textsBetween(secret)];
}

/** Of an address with `${…}` places, what stands around them: the whole is never sent. */
const textsBetween = (address: string): readonly string[] =>
  address.includes('${') ? address.split(/\$\{[^}]*\}|[/?&=#]/).filter(part => !/^[a-z]*:?$/.test(part)) : [];

/** JSON with the secrets in it, for what is encrypted as a whole. */
export const revealJson = (value: object): string =>
  JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key: string, shown: unknown) {
    const held = this[key];
    return held instanceof Secret ? held.reveal() : shown;
  });

const MASKED_ADDRESS = /^(https?:\/\/[^/]+\/\*{8}$|postgres(ql)?:\/\/[^/:]*:\*{8}@)/;

/** True for a text that a read shows in place of a secret: sent back, it means the stored secret. */
export const isMask = (text: string): boolean => text === MASK || MASKED_ADDRESS.test(text);
