import type { HeadgateEvent } from './event.ts';

/** Names beginning `__` that influence how a target sends an event; their values are in no message. */
const HINT_FIELDS = [
  '__severity',
  '__worker_group',
  '__pipeline',
  '__targetConfigs',
  '__topicArn',
  '__phoneNumber',
] as const;
/** Those that the sender of an external event may give it; values that are no text have no effect. */
export const EXTERNAL_HINTS: readonly string[] = ['__severity', '__topicArn', '__phoneNumber'];

type DeliveryHints = { readonly [field in (typeof HINT_FIELDS)[number]]?: unknown };

/** Under a symbol that no listing shows, so that nothing that is written, copied or compared holds it. */
const KEY = Symbol('delivery hints');

/** `event`, which has lost the names beginning `__`, with the delivery hints of `whole`. */
export function withDeliveryHints(event: HeadgateEvent, whole: HeadgateEvent): HeadgateEvent {
  const held = HINT_FIELDS.filter(field => Object.hasOwn(whole, field));
  if (held.length === 0) return event;
  return Object.defineProperty({ ...event }, KEY, {
    value: Object.fromEntries(held.map(field => [field, whole[field]])),
  });
}

export function deliveryHintsOf(event: HeadgateEvent): DeliveryHints {
  const held: unknown = Reflect.get(event, KEY);
  return typeof held === 'object' && held !== null ? held : {};
}
