import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';

/** Steps of a request, in their order. */
const HTTP_STEPS = ['connect', 'write', 'firstByte', 'body'] as const;
export type HttpStep = (typeof HTTP_STEPS)[number];

/** How far a request has come. */
export class RequestProgress {
  #step: HttpStep = 'connect';
  #isWritten = false;
  #isReused = false;
  readonly #onStep: (step: HttpStep) => void;

  /** `onStep` is called when a step begins, but for the first. */
  constructor(onStep: (step: HttpStep) => void) {
    this.#onStep = onStep;
  }

  get step(): HttpStep {
    return this.#step;
  }

  /** The receiver may have it: the first byte was written, in this try or in one before. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** It was written to a connection that had stood idle, and no byte of an answer has come. */
  get isUnansweredOnReused(): boolean {
    return this.#isReused && (this.#step === 'write' || this.#step === 'firstByte');
  }

  /** Begins again, on another connection. */
  restart(): void {
    this.#step = 'connect';
    this.#isReused = false;
    this.#onStep('connect');
  }

  begin(isReused: boolean): void {
    this.#isWritten = true;
    this.#isReused = isReused;
    this.enter('write');
  }

  enter(step: HttpStep): void {
    if (HTTP_STEPS.indexOf(step) <= HTTP_STEPS.indexOf(this.#step)) return;
    this.#step = step;
    this.#onStep(step);
  }
}

/** Options of a request whose progress is followed. */
export interface ProgressOptions {
  readonly progress: RequestProgress;
}

/** The connection of a client, as it is now. */
interface Connection {
  socket: Socket | undefined;
  /** Requests that were begun on it. */
  requests: number;
  readonly interim: InterimAnswers;
}

type Connect = Pick<Client.Options, 'connect'> & { readonly connect: buildConnector.connector };

/** One connection that says of each request how far it has come. */
export class ProgressClient extends Client {
  readonly #connection: Connection;

  constructor(origin: string | URL, options: Client.Options & Connect) {
    const connection: Connection = { socket: undefined, requests: 0, interim: new InterimAnswers() };
    super(origin, {
      ...options,
      connect: (target, done) =>
        options.connect(target, (error, socket) => {
          if (error !== null) return done(error, null);
          connection.socket = socket;
          connection.requests = 0;
          rewriteReads(socket, connection.interim);
          done(null, socket);
        }),
    });
    this.#connection = connection;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const progress: unknown = Reflect.get(options, 'progress');
    if (!(progress instanceof RequestProgress)) return super.dispatch(options, handler);
    return super.dispatch(options, new FollowedHandler(handler, progress, this.#connection));
  }
}

/** The library reads what has arrived by this method alone. */
function rewriteReads(socket: Socket, interim: InterimAnswers): void {
  const read = socket.read.bind(socket);
  socket.read = size => {
    const chunk: unknown = read(size);
    if (Buffer.isBuffer(chunk)) interim.rewrite(chunk);
    return chunk;
  };
}

/**
 * Hands everything on. The library calls these methods synchronously with what it does to the socket: `onConnect` right
 * before the first byte is written, `onRequestSent` after the last was handed to it.
 */
class FollowedHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #progress: RequestProgress;
  readonly #connection: Connection;

  constructor(handler: Dispatcher.DispatchHandler, progress: RequestProgress, connection: Connection) {
    this.#handler = handler;
    this.#progress = progress;
    this.#connection = connection;
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#progress.begin(this.#connection.requests > 0);
    this.#connection.requests += 1;
    this.#connection.interim.restart();
    this.#handler.onConnect?.(abort);
  }

  onRequestSent(): void {
    const { socket } = this.#connection;
    const progress = this.#progress;
    if (socket?.writableNeedDrain) socket.once('drain', () => progress.enter('firstByte'));
    else progress.enter('firstByte');
  }

  onResponseStarted(): void {
    this.#progress.enter('body');
    this.#handler.onResponseStarted?.();
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, text: string): boolean {
    return this.#handler.onHeaders?.(status, headers, resume, text) ?? true;
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.onData?.(chunk) ?? true;
  }

  onComplete(trailers: string[] | null): void {
    this.#handler.onComplete?.(trailers);
  }

  onError(error: Error): void {
    this.#handler.onError?.(error);
  }
}

const CONTINUE = /^HTTP\/1\.\d 100$/;
const INTERIM = /^HTTP\/1\.\d 1\d\d$/;
const STATUS_LENGTH = 'HTTP/1.1 100'.length;
const TWO = '2'.charCodeAt(0);
const HEAD_END = '\r\n\r\n';

/**
 * Turns unasked 100 answers into 102 as they arrive: both say only that a real answer follows (RFC 9110 section 15.2), and
 * the library breaks the connection off for the first. No byte moves, so that answers may come in any pieces.
 */
export class InterimAnswers {
  /** The beginning of a head, as far as it has come; undefined where nothing more is looked for. */
  #line: string | undefined;
  /** The last bytes of an interim head; undefined outside of one. */
  #tail: string | undefined;

  /** A request begins: its answer may begin with interim ones. */
  restart(): void {
    this.#line = '';
    this.#tail = undefined;
  }

  /** Changes the bytes of a chunk in place. */
  rewrite(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; )
      if (this.#tail !== undefined) at = this.#passHead(chunk, at);
      else if (this.#line !== undefined) at = this.#readLine(chunk, at, this.#line);
      else return;
  }

  #readLine(chunk: Buffer, at: number, line: string): number {
    const end = Math.min(chunk.length, at + STATUS_LENGTH - line.length);
    const read = line + chunk.toString('latin1', at, end);
    this.#line = read;
    if (read.length < STATUS_LENGTH) return end;
    this.#line = undefined;
    if (CONTINUE.test(read)) chunk[end - 1] = TWO;
    if (INTERIM.test(read)) this.#tail = '';
    return end;
  }

  /** Passes over the rest of an interim head, behind which another one may follow. */
  #passHead(chunk: Buffer, at: number): number {
    const before = this.#tail ?? '';
    const text = before + chunk.toString('latin1', at);
    const end = text.indexOf(HEAD_END);
    if (end < 0) {
      this.#tail = text.slice(1 - HEAD_END.length);
      return chunk.length;
    }
    this.restart();
    return at + end + HEAD_END.length - before.length;
  }
}
