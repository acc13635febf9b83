import * as z from 'zod';
import { deliveryHintsOf } from '../../events/delivery-hints.ts';
import { type HeadgateEvent, parseSeverity } from '../../events/event.ts';
import { factLines, reminderNote } from '../../events/facts.ts';
import { httpUrl, secretText } from '../../lib/schemas.ts';
import { truncate, wellFormedJson } from '../../lib/text.ts';
import { VERSION } from '../../lib/version.ts';
import {
  connectionOf,
  connectionSecrets,
  connectionSettings,
  requestPatienceMs,
} from '../http-connection.ts';
import { retrySettings, sendRequest, type TargetRequest } from '../http-target.ts';
import type { Outcome } from '../outcome.ts';
import { commonSettings, defineTarget } from '../target.ts';

/** Integration keys have 32 characters; other lengths are left to the service to refuse. */
const routingKey = secretText.refine(secret => /^[\x21-\x7e]{1,255}$/.test(secret.reveal()), {
  error: 'must be 1 to 255 visible ASCII characters, without spaces and line breaks',
});

/** The service's own words; `warn` is how Cribl's files write it. */
const severity = z
  .enum(['info', 'warning', 'error', 'critical', 'warn'])
  .transform(word => (word === 'warn' ? 'warning' : word));

const detail = z.string().min(1).max(1024).optional();

const schema = z.strictObject({
  ...commonSettings,
  type: z.literal('pager_duty').describe('Kind of target.'),
  routingKey: routingKey.describe('Integration key of the service.'),
  severity: severity.describe('Severity of the alerts; warn is read as warning.'),
  group: detail.describe('Group the alerts belong to.'),
  class: detail.describe('Class of the alerts.'),
  component: detail.describe('Component the alerts are about.'),
  url: httpUrl
    .default('https://events.pagerduty.com/v2/enqueue')
    .describe(
      'Address of the Events API; for accounts in the European region `https://events.eu.pagerduty.com/v2/enqueue`.',
    )
    .meta({ destination: true }),
  ...retrySettings,
  ...connectionSettings,
});

type PagerDutySettings = z.output<typeof schema>;

/** Opens and resolves alerts by the Events API v2 of PagerDuty. */
export const pagerDuty = defineTarget({
  type: 'pager_duty',
  description: 'Opens and resolves alerts in PagerDuty.',
  neverGroups: () => true,
  schema,
  templates: [],
  references: [],
  needsRecipients: false,
  usesProcessIdentity: () => undefined,
  files: [],
  showsRepeats: () => false,
  concurrency: () => 5,
  patienceMs: settings => requestPatienceMs(settings),
  keepsOpen: () => true,
  opensAt: ['routingKey', 'url'],
  async send([event], settings, context) {
    if (event === undefined) return { kind: 'sent' };
    return withKeyRemedy(await sendRequest(requestOf(event, settings), context));
  },
  preview: ([event], settings) =>
    event === undefined
      ? { kind: 'nothing', reason: 'no event' }
      : { kind: 'request', request: requestOf(event, settings) },
});

function requestOf(event: HeadgateEvent, settings: PagerDutySettings): TargetRequest {
  const { url } = settings;
  const key = settings.routingKey.reveal();
  const headers = { 'content-type': 'application/json', 'user-agent': `headgate/${VERSION}` };
  const body = pagerDutyEvent(event, { ...settings, routingKey: key });
  const secrets = [key, ...connectionSecrets(settings)];
  const connection = connectionOf(settings);
  return { url, headers, body, connection, retries: settings, secrets };
}

/**
 * Adds the remedy for a wrong key, which fails every message: the answer has the same status as one to a wrong event.
 */
function withKeyRemedy(outcome: Outcome): Outcome {
  if (outcome.kind !== 'refused' || !/routing[_ ]key/i.test(outcome.answer ?? '')) return outcome;
  const { isAboutMessage: _, ...rest } = outcome;
  return { ...rest, reason: `${outcome.reason}; check routingKey` };
}

interface AlertSettings {
  readonly routingKey: string;
  readonly severity: PagerDutySeverity;
  readonly group?: string | undefined;
  readonly class?: string | undefined;
  readonly component?: string | undefined;
}

type PagerDutySeverity = 'info' | 'warning' | 'error' | 'critical';

/** The service's limit is 512 KB, whichever kilobyte it means. */
const MAX_BYTES = 512_000;
const MAX_SUMMARY = 1024;
const MAX_SOURCE = 255;
const MAX_LINK = 2000;
const MAX_OMITTED_NAMES = 20;

/**
 * Makes the body of a request to the Events API v2: an alarm triggers, its end resolves. The incident's id is the key
 * of both and of every reminder, so that one alert of the service is one incident, whatever else is open on the same
 * object.
 */
export function pagerDutyEvent(event: HeadgateEvent, settings: AlertSettings): string {
  const dedup = { routing_key: settings.routingKey, dedup_key: event.incidentId };
  if (event.status === 'OK') return wellFormedJson({ ...dedup, event_action: 'resolve' });
  const url = toLinkUrl(event.incidentUrl);
  const rest = {
    ...dedup,
    event_action: 'trigger',
    client: 'Headgate',
    ...(url !== undefined && { client_url: url }),
    links: [
      linkOf(event.incidentUrl, 'Incident'),
      linkOf(event.runbookUrl, 'Runbook'),
      linkOf(event.silenceUrl, 'Silence'),
    ].flatMap(link => link ?? []),
  };
  const payload = payloadOf(event, settings);
  const bytes = Buffer.byteLength(wellFormedJson({ ...rest, payload: { ...payload, custom_details: {} } }));
  const details = detailsWithin(MAX_BYTES - bytes, withFacts(event));
  return wellFormedJson({ ...rest, payload: { ...payload, custom_details: details } });
}

function payloadOf(event: HeadgateEvent, settings: AlertSettings) {
  const time = new Date(event._time * 1000);
  const { group, component } = settings;
  return {
    summary:
      oneLine(`${event._raw}${reminderNote(event)}`, MAX_SUMMARY) ??
      `${event.cribl_notification}: ${event.status}`,
    source: sourceOf(event),
    severity: severityOf(event) ?? settings.severity,
    ...(!Number.isNaN(time.getTime()) && { timestamp: time.toISOString() }),
    ...(component !== undefined && { component }),
    ...(group !== undefined && { group }),
    ...(settings.class !== undefined && { class: settings.class }),
  };
}

/** The event with its facts for people: its own fields of them are numbers. */
function withFacts(event: HeadgateEvent): HeadgateEvent {
  const lines = factLines(event);
  return lines.length === 0 || Object.hasOwn(event, 'facts') ? event : { ...event, facts: lines.join('\n') };
}

/** Names the subject of the event, or else its sender. */
const sourceOf = ({ input, output, key, target, cribl_host: host }: HeadgateEvent): string =>
  [input, output, key, target, host]
    .map(name => oneLine(name, MAX_SOURCE))
    .find(name => name !== undefined) ?? 'headgate';

/** Our severities in the words of the service. */
const SEVERITIES = { info: 'info', warn: 'warning', error: 'error', fatal: 'critical' } as const;

function severityOf(event: HeadgateEvent): PagerDutySeverity | undefined {
  const own = parseSeverity(deliveryHintsOf(event).__severity);
  return own && SEVERITIES[own];
}

/** Lists and mails show a summary in one line. */
function oneLine(value: unknown, max: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = value.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line === '' ? undefined : truncate(line, max);
}

function toLinkUrl(url: unknown): string | undefined {
  if (typeof url !== 'string' || url.length > MAX_LINK || !URL.canParse(url)) return undefined;
  const { href, protocol } = new URL(url);
  return /^https?:$/.test(protocol) && href.length <= MAX_LINK ? href : undefined;
}

const linkOf = (url: unknown, text: string): { readonly href: string; readonly text: string } | undefined => {
  const href = toLinkUrl(url);
  return href === undefined ? undefined : { href, text };
};

/** Collects the event's fields; omits and names the largest until the rest fits. */
function detailsWithin(max: number, event: HeadgateEvent): object {
  const members = Object.entries(event).map(([name, value]) => ({
    name,
    value,
    bytes: Buffer.byteLength(wellFormedJson({ [name]: value })),
  }));
  let bytes = members.reduce((sum, member) => sum + member.bytes, 0);
  if (bytes <= max) return event;
  const omitted: string[] = [];
  for (const { name, bytes: own } of members.toSorted((a, b) => b.bytes - a.bytes)) {
    if (bytes <= max - OMITTED_NAMES_BYTES) break;
    bytes -= own;
    omitted.push(name);
  }
  const kept = members.filter(({ name }) => !omitted.includes(name)).map(({ name, value }) => [name, value]);
  return {
    ...Object.fromEntries(kept),
    left_out: omitted.slice(0, MAX_OMITTED_NAMES).map(name => truncate(name, 100)),
  };
}

const OMITTED_NAMES_BYTES = 20_000;
