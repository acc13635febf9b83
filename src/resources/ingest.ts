import type { IngestTokens } from '../auth/tokens/ingest-tokens.ts';
import { AppError } from '../lib/errors.ts';
import type { Secret } from '../lib/secret.ts';
import { type ReceiveEvents, readExternalEvents } from '../notifications/external-events.ts';
import type { ReadPoints } from '../pipelines/ingest/pushed.ts';
import type { IngestedPoints, Monitor } from '../pipelines/monitor.ts';
import type { PushSettings } from '../pipelines/settings.ts';

/** Where senders are let in. */
export interface IngestEndpoint {
  readonly monitor: Monitor;
  readonly ingestTokens: Pick<IngestTokens, 'pipelineOf' | 'isMalformed'>;
}

/**
 * Which pipeline a sender's token belongs to, one of the configuration or an ingest token. Throws `unauthenticated`, with
 * the same text for all that no longer count: a finder of an old one learns nothing.
 */
export function senderOf({ monitor, ingestTokens }: IngestEndpoint, token: Secret | undefined): PushSettings {
  const presented = token?.reveal() ?? '';
  const pipeline = monitor.pipelineOfToken(presented) ?? issuedTo(presented);
  if (pipeline !== undefined) return pipeline;
  throw new AppError(
    'unauthenticated',
    ingestTokens.isMalformed(presented)
      ? 'The ingest token is mistyped or cut off: its checksum does not fit'
      : 'The ingest token is missing, unknown or over; send it as Authorization: Bearer',
  );

  function issuedTo(secret: string): PushSettings | undefined {
    const id = ingestTokens.pipelineOf(secret);
    return id === undefined ? undefined : monitor.pushSettingsOf(id);
  }
}

/** Throws `forbidden` for the token of another engine's pipeline. */
function senderWith(
  engine: PushSettings['engine'],
  endpoint: IngestEndpoint,
  token: Secret | undefined,
): PushSettings {
  const pipeline = senderOf(endpoint, token);
  if (pipeline.engine !== engine)
    throw new AppError(
      'forbidden',
      `The token belongs to pipeline '${pipeline.id}', whose engine is ${pipeline.engine}`,
    );
  return pipeline;
}

/** `POST /ingest/samples`: all of the body's samples or none. */
export function ingestSamples(
  endpoint: IngestEndpoint,
  token: Secret | undefined,
  body: unknown,
): object | Promise<object> {
  return endpoint.monitor.ingestSamples(senderWith('custom', endpoint, token).id, body);
}

/** `POST /ingest/impstats`: rsyslog's statistics as it writes them. */
export function ingestImpstats(
  endpoint: IngestEndpoint,
  token: Secret | undefined,
  instance: string | undefined,
  lines: string,
): object | Promise<object> {
  return endpoint.monitor.ingestImpstats(senderWith('rsyslog', endpoint, token).id, instance, lines);
}

/** `POST /ingest/prometheus/write` and `/ingest/otlp/v1/metrics`: points that `read` hands over. */
export function ingestPoints(
  endpoint: IngestEndpoint,
  token: Secret | undefined,
  instance: string | undefined,
  read: ReadPoints,
): IngestedPoints | Promise<IngestedPoints> {
  const pipeline = senderOf(endpoint, token);
  if (pipeline.engine === 'rsyslog')
    throw new AppError(
      'forbidden',
      `The token belongs to pipeline '${pipeline.id}', whose engine is rsyslog; its statistics go to /ingest/impstats`,
    );
  return endpoint.monitor.ingestPoints(pipeline.id, instance, read);
}

/**
 * `POST /ingest/events`: all of the body's events or none; answers when what follows from them is on disk. Throws
 * `unauthenticated`, `invalid-request`, and `unavailable` when the disk refuses.
 */
export async function ingestEvents(
  endpoint: IngestEndpoint,
  receive: ReceiveEvents,
  token: Secret | undefined,
  body: unknown,
): Promise<{ readonly accepted: number }> {
  const sender = senderOf(endpoint, token);
  const events = readExternalEvents(body);
  await receive(sender.id, events);
  return { accepted: events.length };
}
