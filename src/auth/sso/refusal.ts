/** Why a sign-in with the provider came to nothing, as the page is told. */
const REFUSALS = {
  off: 'There is no provider, or no address of this server to come back to.',
  unreachable: 'The provider does not answer.',
  denied: 'The provider has refused, or the user has given up there.',
  invalid: 'What the provider answered does not hold; the log says why.',
  expired: 'The sign-in took over ten minutes, was used already, or was begun in another browser.',
  'not-allowed': 'The user may not come in here.',
  limited: 'Too many sign-ins from there came to nothing.',
} as const;

type RefusalReason = keyof typeof REFUSALS;

export class SignInRefused extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, cause?: unknown) {
    super(REFUSALS[reason], { cause });
    this.name = 'SignInRefused';
    this.reason = reason;
  }
}
