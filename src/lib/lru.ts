/** A map that holds `capacity` entries and forgets the one that was used longest ago. */
export interface Lru<Key, Value> {
  /** Counts as a use. */
  get(key: Key): Value | undefined;
  /** Counts as a use; answers the key that had to go, if any. */
  set(key: Key, value: Value): Key | undefined;
  readonly delete: (key: Key) => void;
}

export function createLru<Key, Value>(capacity: number): Lru<Key, Value> {
  // A Map iterates in the order of insertion: its first key is the one used longest ago.
  const entries = new Map<Key, { readonly value: Value }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, { value });
      if (entries.size <= capacity) return undefined;
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
      return oldest;
    },
    delete: key => void entries.delete(key),
  };
}
