import * as z from 'zod';
import { isAddressWithin, parseRange } from '../lib/address-ranges.ts';

const list = z.array(z.string());

/** The addresses and ranges of a list as the store has it, in JSON. */
export const addressesIn = (stored: string): readonly string[] => list.parse(JSON.parse(stored));

/** Whether somebody may come in from the address; from nowhere by a list when nobody knows the address. */
export function isAllowedFrom(stored: string, address: string | undefined): boolean {
  const addresses = addressesIn(stored);
  if (addresses.length === 0) return true;
  return (
    address !== undefined &&
    isAddressWithin(
      address,
      addresses.flatMap(text => {
        const range = parseRange(text);
        return range === undefined ? [] : [range];
      }),
    )
  );
}
