const etags = new WeakMap<object, string>();

/** Keeps the tag beside the object and not in it: what is sent back is the object. */
export function keepEtag(item: unknown, etag: string | null): unknown {
  if (typeof item === 'object' && item !== null && etag !== null) etags.set(item, etag);
  return item;
}

/**
 * The ETag an object was answered with, to be passed as `ifMatch` when it is changed: then a change that somebody made
 * meanwhile is not lost. Undefined for what has none.
 */
export const etagOf = (item: object): string | undefined => etags.get(item);
