/**
 * A copy in one piece of a text that may be a slice of a larger one, or put together of others. V8 keeps the larger one
 * for as long as the slice lives, so what outlives the page or the body it was read from must be a copy; and it keeps
 * the parts' frame beside the whole, which counts where there are very many.
 */
export const unsliced = (text: string): string => Buffer.from(text).toString();
