/** A map of plain data. */
export type PlainMap = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is PlainMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A copy as JSON carries it: without what is undefined. */
export const plainCopy = (value: object): PlainMap => {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return isMap(copy) ? copy : {};
};

/** Freezes lists and plain maps all the way down; what has a class of its own looks after itself. */
export function deepFreeze<Value>(value: Value): Value {
  freeze(value);
  return value;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (Object.isFrozen(value)) return;
    Object.freeze(value);
    for (const item of value) if (typeof item === 'object') freeze(item);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const entry of Object.values(value)) if (typeof entry === 'object') freeze(entry);
}
