import type { Cancel, Clock } from '../../lib/clock.ts';

/** Steps of a transfer, in their order. RFC 5321 section 4.5.3.2 has a time limit for each but `connect` and `hello`. */
export type SmtpStep = 'connect' | 'greeting' | 'hello' | 'mail' | 'rcpt' | 'data' | 'block' | 'end';

/** Seconds. */
export type SmtpTimeouts = Readonly<Record<SmtpStep, number>>;

export const SMTP_TIMEOUTS: SmtpTimeouts = {
  connect: 300,
  greeting: 300,
  hello: 300,
  mail: 300,
  rcpt: 300,
  data: 120,
  block: 180,
  end: 600,
};

/** How long a mail may take as a whole, in ms. */
export const mailPatienceMs = (timeouts: SmtpTimeouts = SMTP_TIMEOUTS): number =>
  Object.values(timeouts).reduce((sum, one) => sum + one, 0) * 1000;

const OF_COMMANDS: Readonly<Record<string, SmtpStep>> = { MAIL: 'mail', RCPT: 'rcpt', DATA: 'data' };

/** How far a mail has come, by what the library says it does, and the timers of that. */
export class MailProgress {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #timeouts: SmtpTimeouts;
  readonly #giveUp: () => void;
  readonly #cancelWhole: Cancel;
  #cancelStep: Cancel = () => {};
  #doing = '';
  #isWritten = false;
  #timedOut: string | undefined;
  #offered: string | undefined;

  constructor(options: {
    readonly clock: Pick<Clock, 'after'>;
    readonly timeouts: SmtpTimeouts | undefined;
    /** Called when a step takes too long. */
    readonly giveUp: () => void;
  }) {
    this.#clock = options.clock;
    this.#timeouts = options.timeouts ?? SMTP_TIMEOUTS;
    this.#giveUp = options.giveUp;
    const wholeMs = mailPatienceMs(this.#timeouts);
    this.#cancelWhole = this.#clock.after(wholeMs, () => this.#timeOut(wholeMs / 1000));
    this.begin('connect', 'connecting');
  }

  /** The whole message was handed to the connection: the server may have it. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Which step took too long; undefined where none did. */
  get timedOut(): string | undefined {
    return this.#timedOut;
  }

  /** Mechanisms of AUTH that the server offers, as it writes them; undefined where it has offered none. */
  get offered(): string | undefined {
    return this.#offered;
  }

  begin(step: SmtpStep, doing: string): void {
    this.#cancelStep();
    this.#doing = doing;
    const seconds = this.#timeouts[step];
    this.#cancelStep = this.#clock.after(seconds * 1000, () => this.#timeOut(seconds));
  }

  written(): void {
    this.#isWritten = true;
    this.begin('end', 'waiting for the answer to the final dot');
  }

  /** Ends its timers. */
  end(): void {
    this.#cancelStep();
    this.#cancelWhole();
  }

  /** For the library, which logs each command that it sends, and each answer. Nothing of it is kept. */
  readonly logger = {
    level: () => {},
    trace: () => {},
    debug: (entry: object, text?: unknown): void => this.#note(Reflect.get(entry, 'tnx'), String(text ?? '')),
    info: () => {},
    warn: () => {},
    error: () => {},
    fatal: () => {},
  };

  #note(from: unknown, text: string): void {
    if (from === 'client') this.#sent(text);
    if (from === 'server') this.#heard(text);
  }

  #sent(command: string): void {
    const verb = /^[A-Z]{4,8}(?=$| )/.exec(command)?.[0] ?? '';
    if (verb === 'QUIT') return;
    const step = OF_COMMANDS[verb] ?? 'hello';
    // The rest of a login is the secret itself.
    const named = step === 'hello' && !/^(EHLO|HELO|STARTTLS|AUTH)$/.test(verb) ? 'AUTH' : verb;
    this.begin(step, `waiting for the answer to ${named}`);
  }

  #heard(answer: string): void {
    this.#offered = /^250[- ]AUTH[ =]+([\w\- ]{1,200}?) *$/im.exec(answer)?.[1] ?? this.#offered;
    if (answer.startsWith('354')) this.begin('block', 'writing the mail');
  }

  #timeOut(seconds: number): void {
    this.#timedOut ??= `timed out after ${seconds} s ${this.#doing}`;
    this.#giveUp();
  }
}
