/** A map of plain data. */
export type PlainMap = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is PlainMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A copy as JSON carries it: without what is undefined. */
export const plainCopy = (value: object): PlainMap => {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return isMap(copy) ? copy : {};
};
