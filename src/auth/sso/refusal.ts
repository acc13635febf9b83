/** Reasons why a sign-in with the provider failed, as the page shows them. */
const REFUSALS = {
  off: 'There is no provider, or no address of this server to come back to.',
  unreachable: 'The provider does not answer.',
  denied: 'The provider has refused, or the user has given up there.',
  invalid: 'What the provider answered does not hold; the log says why.',
  expired: 'The sign-in took over ten minutes, was used already, or was begun in another browser.',
  'not-allowed': 'The user may not come in here.',
  'groups-unreadable':
    'The provider sent groups of the user in a form that cannot be read; the log says which.',
  unverified: 'The provider does not vouch for an e-mail address of somebody who has not come before.',
  'no-member': 'The user is no member of an organization; an owner or admin of it can make them one.',
  'other-account': 'The member comes in by another account of the provider.',
  limited: 'Too many sign-ins from there came to nothing.',
} as const;

export type RefusalReason = keyof typeof REFUSALS;

export class SignInRefused extends Error {
  readonly reason: RefusalReason;
  /** The path of this server that the sign-in was to lead to. */
  readonly returnTo: string;

  constructor(reason: RefusalReason, cause?: unknown, returnTo = '/') {
    super(REFUSALS[reason], { cause });
    this.name = 'SignInRefused';
    this.reason = reason;
    this.returnTo = returnTo;
  }
}

/** Settles as `work` does, and adds the path to its refusal. */
export async function withReturnTo<Result>(returnTo: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error;
    throw new SignInRefused(error.reason, error.cause, returnTo);
  }
}
