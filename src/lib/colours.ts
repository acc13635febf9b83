import picocolors from 'picocolors';

/** A stream that text is written to. */
export interface Destination {
  readonly isTTY?: boolean;
}

/**
 * The colours of one stream: none unless a terminal shows it. NO_COLOR (no-color.org) and FORCE_COLOR, set to
 * anything, say it for every stream. The library's own guess would colour a pipe wherever CI is set, and stderr because
 * stdout is a terminal.
 */
export function coloursFor(
  stream: Destination,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ReturnType<typeof picocolors.createColors> {
  const isForced = isSet(environment.FORCE_COLOR) && environment.FORCE_COLOR !== '0';
  const isTerminal = stream.isTTY === true && environment.TERM !== 'dumb';
  return picocolors.createColors(!isSet(environment.NO_COLOR) && (isForced || isTerminal));
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '';
