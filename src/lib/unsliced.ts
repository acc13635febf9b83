/**
 * A copy of a text that may be a slice of a larger one. V8 keeps the larger one for as long as the slice lives, so what
 * outlives the page or the body it was read from must be a copy.
 */
export const unsliced = (text: string): string => Buffer.from(text).toString();
