import { reasonOf } from '../../lib/errors.ts';
import type { HttpAnswer, HttpClient } from '../../lib/http/client.ts';
import { HttpFailure, type HttpFailureReason } from '../../lib/http/failure.ts';
import type { ObservedClock } from '../../lib/observed-clock.ts';
import { isJsonEngine } from '../engines/index.ts';
import type { OperatorFiles, PullSettings } from '../settings.ts';

/**
 * Why there is nothing to read: no answer, an answer that is no page, one that is too large, one with nothing that the
 * engine is known by, or files of `tls` that cannot be used.
 */
export type ScrapeFailure = HttpFailureReason | 'status' | 'too-large' | 'files' | 'format' | 'unrecognised';

/** The result of one scrape. An error names scheme and host only: the rest of a url may be a secret. */
export type ScrapeResult =
  | { readonly body: Buffer; readonly openMetrics: boolean }
  | { readonly error: string; readonly failure: ScrapeFailure };

interface Options {
  readonly settings: PullSettings;
  readonly url: string;
  readonly http: HttpClient;
  readonly clock: ObservedClock;
  readonly files: Pick<OperatorFiles, 'tls'>;
  /** 0 to 1; spreads the first readings of many pipelines over their intervals. */
  readonly random: () => number;
  /** Gets the result of every try, one after the other. */
  readonly onResult: (result: ScrapeResult) => void | Promise<void>;
}

/** Reads a url at its pipeline's interval until the returned call; a reading that takes longer delays the next, they never overlap. */
export function startScraping(options: Options): () => void {
  const stop = new AbortController();
  void scrapeUntil(stop.signal, options);
  return () => stop.abort();
}

async function scrapeUntil(signal: AbortSignal, options: Options): Promise<void> {
  const { settings, clock, random } = options;
  const interval = settings.interval.ms;
  let at = clock.monotonic() + random() * interval;
  let unobservedMs = clock.unobservedMs();
  for (;;) {
    await clock.sleep(at - clock.monotonic(), signal);
    if (signal.aborted) return;
    // After a time in which the process did not run its timer comes early on this clock.
    at = Math.min(at, clock.monotonic());
    const isDone = await scrape(options, signal, unobservedMs);
    unobservedMs = clock.unobservedMs();
    at = isDone ? Math.max(at + interval, clock.monotonic()) : clock.monotonic();
  }
}

/**
 * Resolves to false when it failed and the process did not run for a while since the last time (`unobservedMs`): its
 * own timeout was over at waking, or its connection, which proves nothing. A function of its own: a loop would keep its
 * page in memory until it has the next.
 */
async function scrape(options: Options, signal: AbortSignal, unobservedMs: number): Promise<boolean> {
  const { clock, onResult } = options;
  const result = await fetchPage(options, signal);
  if ('error' in result && clock.unobservedMs() !== unobservedMs) return false;
  if (!signal.aborted) await onResult(result);
  return true;
}

const TEXT = 'text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1';

async function fetchPage(
  { settings, url, http, files }: Options,
  signal: AbortSignal,
): Promise<ScrapeResult> {
  if (settings.switchedOff !== undefined) return { error: settings.switchedOff, failure: 'other' };
  const { origin } = new URL(url);
  const failed = (failure: ScrapeFailure, text: string): ScrapeResult => ({
    error: `${origin}: ${text}`,
    failure,
  });
  try {
    const trust = settings.tls && files.tls(settings.tls);
    if (trust !== undefined && trust.tls === undefined)
      return failed('files', trust.fault ?? 'the files of tls cannot be used');
    const answer = await http.request({
      url,
      method: 'GET',
      headers: {
        accept: isJsonEngine(settings.engine) ? 'application/json' : TEXT,
        'accept-encoding': 'gzip',
        ...authorizationOf(settings),
      },
      timeoutMs: settings.timeout.ms,
      maxAnswerBytes: settings.maxBytes,
      ...(trust?.tls && { tls: trust.tls }),
      skipsVerification: settings.tls?.rejectUnauthorized === false,
      signal,
    });
    const fault = faultOf(answer, settings.maxBytes);
    if (fault !== undefined) return failed(...fault);
    const openMetrics = (answer.headers['content-type'] ?? '').includes('application/openmetrics-text');
    return { body: answer.body, openMetrics };
  } catch (error) {
    const reason = reasonOf(error);
    const page = failed(error instanceof HttpFailure ? error.reason : 'other', reason);
    return reason.startsWith(origin) ? { ...page, error: reason } : page;
  }
}

/** A token, or a name with its password as UTF-8 (RFC 7617). */
function authorizationOf({ token, username, password }: PullSettings): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${token.reveal()}` };
  if (username === undefined) return {};
  const pair = Buffer.from(`${username}:${password?.reveal() ?? ''}`, 'utf8').toString('base64');
  return { authorization: `Basic ${pair}` };
}

function faultOf({ status, truncated }: HttpAnswer, maxBytes: number): [ScrapeFailure, string] | undefined {
  if (status === 401 || status === 403)
    return ['status', `answered ${status}; check the pipeline's token, username and password, or tls`];
  if (status >= 300 && status < 400)
    return ['status', `answered ${status}, a redirect; set url to where it leads`];
  if (status !== 200) return ['status', `answered ${status}`];
  return truncated
    ? ['too-large', `the page is larger than ${maxBytes} bytes; raise maxBytes or expose less`]
    : undefined;
}
