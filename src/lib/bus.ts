/** Carries committed facts inside the process. Lossy by contract: whoever must not miss one also polls the store. */
export interface Bus<Facts extends object> {
  publish<Name extends keyof Facts>(name: Name, fact: Facts[Name]): void;
  /** Returns the call that ends the subscription. */
  subscribe<Name extends keyof Facts>(name: Name, listener: (fact: Facts[Name]) => void): () => void;
}

export function createBus<Facts extends object>(): Bus<Facts> {
  const listeners = new Map<keyof Facts, Set<(fact: never) => void>>();
  return {
    publish(name, fact) {
      for (const listener of listeners.get(name) ?? []) (listener as (value: typeof fact) => void)(fact);
    },
    subscribe(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      set.add(listener);
      return () => set.delete(listener);
    },
  };
}
