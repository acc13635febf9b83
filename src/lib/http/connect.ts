import type { LookupAddress } from 'node:dns';
import { connect, type Socket } from 'node:net';
import { type Clock, systemClock } from '../clock.ts';
import { codeOf } from '../errors.ts';
import { onAbort } from '../on-abort.ts';
import { type AddressGuard, guardedAddresses, type Resolve } from './guard.ts';

/** RFC 8305 section 5: how long an attempt is waited for before the next address is tried as well. */
const ATTEMPT_DELAY_MS = 250;
/** Addresses of one name that are tried; all of them are judged. */
const MOST_TRIED = 16;

export interface ConnectRequest {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly guard: AddressGuard;
  readonly resolve: Resolve;
  /** Times the attempts; by default that of the system. */
  readonly clock?: Pick<Clock, 'after'> | undefined;
  /** Gives up; the socket is its caller's afterwards. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The one way to open a TCP connection to others: looks the host up once, judges every address, and races the attempts.
 * Rejects with `ForbiddenAddress`, the error of the look-up or that of an attempt.
 */
export async function openSocket(request: ConnectRequest): Promise<Socket> {
  const { port } = request;
  return raceAddresses(request, (address, ending) => connectTo(address, port, ending));
}

/** Opens a connection to one address. It must end soon after `ending` has aborted. */
type OpenAttempt = (address: LookupAddress, ending: AbortSignal) => Promise<Socket>;

/**
 * Opens a connection to one of the addresses of a host, all of them judged before the first is tried: one that is
 * forbidden refuses the name. The first that opens wins, and the others are closed.
 */
export async function raceAddresses(request: ConnectRequest, open: OpenAttempt): Promise<Socket> {
  const { clock = systemClock, signal } = request;
  const looked = guardedAddresses(request);
  const addresses = await (signal === undefined ? looked : unlessAborted(looked, signal));
  return new Promise((resolve, reject) => {
    const race = new Race({ addresses: byFamilyInTurn(addresses).slice(0, MOST_TRIED), open, clock });
    const leave = signal === undefined ? ignore : onAbort(signal, () => race.end(abandoned()));
    race.run((error, socket) => {
      leave();
      if (socket === undefined) reject(error);
      else resolve(socket);
    });
    if (signal?.aborted) race.end(abandoned());
  });
}

/** RFC 8305 section 4: the families take turns, beginning with that of the first address; else the order stays. */
export function byFamilyInTurn(addresses: readonly LookupAddress[]): readonly LookupAddress[] {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family);
  const second = addresses.filter(({ family }) => family !== addresses[0]?.family);
  if (second.length === 0) return addresses;
  return addresses.flatMap((_, index) => [first[index], second[index]].flatMap(one => one ?? []));
}

interface RaceOptions {
  readonly addresses: readonly LookupAddress[];
  readonly open: OpenAttempt;
  readonly clock: Pick<Clock, 'after'>;
}

type Finish = (error: unknown, socket?: Socket) => void;

class Race {
  readonly #options: RaceOptions;
  readonly #waiting: LookupAddress[];
  readonly #ending = new AbortController();
  #underWay = 0;
  #failure: unknown;
  #cancelNext = ignore;
  #finish: Finish | undefined;

  constructor(options: RaceOptions) {
    this.#options = options;
    this.#waiting = [...options.addresses];
  }

  run(finish: Finish): void {
    this.#finish = finish;
    this.#tryNext();
  }

  /** Closes every attempt that is under way. */
  end(error: unknown, socket?: Socket): void {
    const finish = this.#finish;
    this.#finish = undefined;
    this.#cancelNext();
    this.#ending.abort();
    finish?.(error, socket);
  }

  #tryNext(): void {
    this.#cancelNext();
    const address = this.#waiting.shift();
    if (this.#finish === undefined || address === undefined) return;
    if (this.#waiting.length > 0)
      this.#cancelNext = this.#options.clock.after(ATTEMPT_DELAY_MS, () => this.#tryNext());
    this.#underWay += 1;
    this.#options.open(address, this.#ending.signal).then(
      socket => {
        if (this.#finish === undefined) socket.on('error', ignore).destroy();
        else this.end(undefined, socket);
      },
      error => this.#failed(error),
    );
  }

  #failed(error: unknown): void {
    this.#underWay -= 1;
    // That this machine has no way to a family says nothing about the receiver.
    if (this.#failure === undefined || NO_WAY.test(codeOf(this.#failure))) this.#failure = error;
    if (this.#waiting.length > 0) this.#tryNext();
    else if (this.#underWay === 0) this.end(this.#failure);
  }
}

const NO_WAY = /^(ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/;
const ignore = (): void => {};

const abandoned = (): Error => Object.assign(new Error('given up'), { code: 'UND_ERR_ABORTED' });

function connectTo({ address, family }: LookupAddress, port: number, ending: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // The delay between attempts is the race's: Node's own would cut off a slow handshake.
    const to = { host: address, port, family, autoSelectFamily: false, highWaterMark: READ_BYTES };
    const socket = connect(to);
    const giveUp = (): void => void socket.destroy(abandoned());
    const leave = onAbort(ending, giveUp);
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.once('error', error => {
      leave();
      reject(error);
    });
    socket.once('connect', () => {
      leave();
      socket.removeAllListeners('error');
      // Errors are reported to the reader of the socket, and must not end the process before there is one.
      socket.on('error', ignore);
      resolve(socket);
    });
    if (ending.aborted) giveUp();
  });
}

/** Read from a socket at once. */
const READ_BYTES = 64 * 1024;
/** First probe of a connection that stands idle. */
const KEEP_ALIVE_MS = 60_000;

/** Leaves behind what cannot be stopped, such as a look-up. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(abandoned());
    const leave = onAbort(signal, () => reject(abandoned()));
    work.then(resolve, reject).finally(leave);
  });
}
