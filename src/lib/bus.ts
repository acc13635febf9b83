/**
 * Hands messages to the listeners in this process, at once and in the order they are published. Nothing is kept for later
 * listeners, so a listener that must not miss any polls, too.
 */
export interface Bus<Message> {
  publish(message: Message): void;
  /** The answer ends it; calling that twice is harmless. */
  subscribe(listener: (message: Message) => void): () => void;
}

/** `failed` gets what a listener throws: neither the publisher nor the other listeners notice it. */
export function createBus<Message>(failed: (error: unknown) => void): Bus<Message> {
  const subscriptions = new Set<{ readonly hear: (message: Message) => void }>();
  return {
    publish(message) {
      for (const { hear } of [...subscriptions]) {
        try {
          hear(message);
        } catch (error) {
          failed(error);
        }
      }
    },
    subscribe(listener) {
      const subscription = { hear: listener };
      subscriptions.add(subscription);
      return () => void subscriptions.delete(subscription);
    },
  };
}
