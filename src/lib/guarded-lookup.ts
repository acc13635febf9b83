import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { AddressGuard } from './address-guard.ts';
import { ForbiddenAddress } from './http-failure.ts';
import { createLru } from './lru.ts';

/** All addresses of a name. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export const resolveBySystem: Resolve = (hostname, done) =>
  lookup(hostname, { all: true }, (error, addresses) => done(error, addresses));

/** Names whose turn is remembered; one that is forgotten begins again. */
const MOST_NAMES = 1000;

/** The same addresses, each time another one first; the rest follows for when it does not answer. */
export function inTurn(resolve: Resolve): Resolve {
  const turns = createLru<string, number>(MOST_NAMES);
  return (hostname, done) =>
    resolve(hostname, (error, addresses) => {
      if (error || addresses.length === 0) return done(error, addresses);
      const turn = turns.get(hostname) ?? 0;
      turns.set(hostname, turn + 1);
      // Servers of names and the system shuffle: turns need an order that stays.
      const ordered = addresses.toSorted((a, b) => (a.address < b.address ? -1 : 1));
      const first = turn % ordered.length;
      done(null, [...ordered.slice(first), ...ordered.slice(0, first)]);
    });
}

/**
 * Judges addresses where the socket is made, after the only look-up there is: what was judged is what is connected to, and
 * a name whose answer changes has no gap. One forbidden address among several refuses the name.
 */
export const guardedLookup =
  (guard: AddressGuard, resolve: Resolve): LookupFunction =>
  (hostname, options, done) =>
    resolve(hostname, (error, addresses) => {
      if (error) return done(error, []);
      const refusal = addresses.map(one => guard.refusal(one.address)).find(text => text !== undefined);
      const first = addresses[0];
      if (refusal !== undefined) return done(new ForbiddenAddress(refusal), []);
      if (first === undefined) return done(Object.assign(new Error('no address'), { code: 'ENODATA' }), []);
      if (options.all) return done(null, [...addresses]);
      done(null, first.address, first.family);
    });

/** Why a host that is an address itself, and so is never looked up, may not be connected to. */
export const literalRefusal = (guard: AddressGuard, host: string): string | undefined =>
  isIP(host) === 0 ? undefined : guard.refusal(host);
