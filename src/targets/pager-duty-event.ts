import type { HeadgateEvent } from '../events/event.ts';
import { ownSeverity } from '../events/severity.ts';
import { steeringOf } from '../events/steering.ts';
import { clip, wellFormedJson } from '../lib/clip.ts';

interface Alerting {
  readonly routingKey: string;
  readonly severity: Severity;
  readonly group?: string | undefined;
  readonly class?: string | undefined;
  readonly component?: string | undefined;
}

type Severity = 'info' | 'warning' | 'error' | 'critical';

/** The service takes 512 KB, whichever kilobyte it means. */
const MOST_BYTES = 512_000;
const MOST_SUMMARY = 1024;
const MOST_SOURCE = 255;
const MOST_LINK = 2000;
const MOST_NAMED = 20;

/**
 * The body of a request to the Events API v2: an alarm triggers, its end resolves. The incident's id is the key of both
 * and of every reminder, so that one alert of the service is one incident, whatever else is open on the same object.
 */
export function pagerDutyEvent(event: HeadgateEvent, settings: Alerting): string {
  const dedup = { routing_key: settings.routingKey, dedup_key: event.incidentId };
  if (event.status === 'OK') return wellFormedJson({ ...dedup, event_action: 'resolve' });
  const url = linkable(event.incidentUrl);
  const rest = {
    ...dedup,
    event_action: 'trigger',
    client: 'Headgate',
    ...(url !== undefined && { client_url: url }),
    links: [linkOf(event.incidentUrl, 'Incident'), linkOf(event.runbookUrl, 'Runbook')].flatMap(
      link => link ?? [],
    ),
  };
  const payload = payloadOf(event, settings);
  const bytes = Buffer.byteLength(wellFormedJson({ ...rest, payload: { ...payload, custom_details: {} } }));
  const details = detailsWithin(MOST_BYTES - bytes, event);
  return wellFormedJson({ ...rest, payload: { ...payload, custom_details: details } });
}

function payloadOf(event: HeadgateEvent, settings: Alerting) {
  const time = new Date(event._time * 1000);
  const { group, component } = settings;
  return {
    summary: oneLine(event._raw, MOST_SUMMARY) ?? `${event.cribl_notification}: ${event.status}`,
    source: sourceOf(event),
    severity: severityOf(event) ?? settings.severity,
    ...(!Number.isNaN(time.getTime()) && { timestamp: time.toISOString() }),
    ...(component !== undefined && { component }),
    ...(group !== undefined && { group }),
    ...(settings.class !== undefined && { class: settings.class }),
  };
}

/** What the event is about, or who says so. */
const sourceOf = ({ input, output, key, target, cribl_host: host }: HeadgateEvent): string =>
  [input, output, key, target, host]
    .map(name => oneLine(name, MOST_SOURCE))
    .find(name => name !== undefined) ?? 'headgate';

/** Ours in the words of the service. */
const SEVERITIES = { info: 'info', warn: 'warning', error: 'error', fatal: 'critical' } as const;

function severityOf(event: HeadgateEvent): Severity | undefined {
  const own = ownSeverity(steeringOf(event).__severity);
  return own && SEVERITIES[own];
}

/** Lists and mails show a summary in one line. */
function oneLine(value: unknown, most: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = value.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line === '' ? undefined : clip(line, most);
}

function linkable(url: unknown): string | undefined {
  if (typeof url !== 'string' || url.length > MOST_LINK || !URL.canParse(url)) return undefined;
  const { href, protocol } = new URL(url);
  return /^https?:$/.test(protocol) && href.length <= MOST_LINK ? href : undefined;
}

const linkOf = (url: unknown, text: string): { readonly href: string; readonly text: string } | undefined => {
  const href = linkable(url);
  return href === undefined ? undefined : { href, text };
};

/** The event's fields; the largest are left out until the rest fits, and named. */
function detailsWithin(most: number, event: HeadgateEvent): object {
  const members = Object.entries(event).map(([name, value]) => ({
    name,
    value,
    bytes: Buffer.byteLength(wellFormedJson({ [name]: value })),
  }));
  let bytes = members.reduce((sum, member) => sum + member.bytes, 0);
  if (bytes <= most) return event;
  const leftOut: string[] = [];
  for (const { name, bytes: own } of members.toSorted((a, b) => b.bytes - a.bytes)) {
    if (bytes <= most - ROOM_FOR_NAMES) break;
    bytes -= own;
    leftOut.push(name);
  }
  const kept = members.filter(({ name }) => !leftOut.includes(name)).map(({ name, value }) => [name, value]);
  return { ...Object.fromEntries(kept), left_out: leftOut.slice(0, MOST_NAMED).map(name => clip(name, 100)) };
}

const ROOM_FOR_NAMES = 20_000;
