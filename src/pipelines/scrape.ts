import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpAnswer, HttpClient } from '../lib/http.ts';
import type { PullSettings } from './settings.ts';

/** What one try to read a pipeline brought. An error names scheme and host only: the rest of a url may be a secret. */
export type Page = { readonly text: string; readonly openMetrics: boolean } | { readonly error: string };

interface Options {
  readonly settings: PullSettings;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** 0 to 1; spreads the first readings of many pipelines over their intervals. */
  readonly random: () => number;
  /** Gets every page, one after the other. */
  readonly take: (page: Page) => void;
}

/** Reads a pipeline at its interval until the returned call; a reading that takes longer delays the next, they never overlap. */
export function startScraping(options: Options): () => void {
  const stop = new AbortController();
  void scrapeUntil(stop.signal, options);
  return () => stop.abort();
}

async function scrapeUntil(
  signal: AbortSignal,
  { settings, http, clock, random, take }: Options,
): Promise<void> {
  const interval = settings.interval.ms;
  let at = clock.monotonic() + random() * interval;
  for (;;) {
    await clock.sleep(at - clock.monotonic(), signal);
    if (signal.aborted) return;
    const page = await fetchPage(settings, http, signal);
    if (signal.aborted) return;
    take(page);
    at = Math.max(at + interval, clock.monotonic());
  }
}

async function fetchPage(settings: PullSettings, http: HttpClient, signal: AbortSignal): Promise<Page> {
  const { origin } = new URL(settings.url);
  try {
    const answer = await http.request({
      url: settings.url,
      method: 'GET',
      headers: {
        accept: 'text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1',
        'accept-encoding': 'gzip',
        ...authorizationOf(settings),
      },
      timeoutMs: settings.timeout.ms,
      maxAnswerBytes: settings.maxBytes,
      signal,
    });
    const fault = faultOf(answer, settings.maxBytes);
    if (fault !== undefined) return { error: `${origin}: ${fault}` };
    const openMetrics = (answer.headers['content-type'] ?? '').includes('application/openmetrics-text');
    return { text: answer.body.toString(), openMetrics };
  } catch (error) {
    const reason = reasonOf(error);
    return { error: reason.startsWith(origin) ? reason : `${origin}: ${reason}` };
  }
}

/** A token, or a name with its password as UTF-8 (RFC 7617). */
function authorizationOf({ token, username, password }: PullSettings): Record<string, string> {
  if (token !== undefined) return { authorization: `Bearer ${token.reveal()}` };
  if (username === undefined) return {};
  const pair = Buffer.from(`${username}:${password?.reveal() ?? ''}`, 'utf8').toString('base64');
  return { authorization: `Basic ${pair}` };
}

function faultOf({ status, truncated }: HttpAnswer, maxBytes: number): string | undefined {
  if (status === 401 || status === 403)
    return `answered ${status}; check the pipeline's token, or username and password`;
  if (status >= 300 && status < 400) return `answered ${status}, a redirect; set url to where it leads`;
  if (status !== 200) return `answered ${status}`;
  return truncated ? `the page is larger than ${maxBytes} bytes; raise maxBytes or expose less` : undefined;
}
