import { isMap, type PlainMap } from '../../config/plain.ts';

/** JSON Merge Patch (RFC 7396): maps are merged, null removes, everything else replaces. */
export function mergePatch(target: unknown, patch: PlainMap): PlainMap {
  const merged = new Map(Object.entries(isMap(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isMap(value) ? mergePatch(merged.get(key), value) : value);
  }
  return Object.fromEntries(merged);
}
