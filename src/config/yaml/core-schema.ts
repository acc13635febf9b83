import { CORE_SCHEMA, defineScalarTag, floatCoreTag, intCoreTag, NOT_RESOLVED } from 'js-yaml';
import { isExactNumber } from '../../lib/exact-numbers.ts';

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
export const EXACT_CORE_SCHEMA = CORE_SCHEMA.withTags(exact(intCoreTag), exact(floatCoreTag));
