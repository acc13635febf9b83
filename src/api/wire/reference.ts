import * as z from 'zod';

/** An object that documents describe once, under that name. */
export const referenceTo = (name: string) =>
  z.custom<object>().meta({ $ref: `#/components/schemas/${name}` });
