import { AppError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Point } from '../../pipelines/formats/point.ts';
import type { Monitor } from '../../pipelines/monitor.ts';
import type { PushSettings } from '../../pipelines/settings.ts';

/** Which pipeline a sender's token belongs to. Throws `unauthenticated`. */
export function senderOf(monitor: Monitor, token: Secret | undefined): PushSettings {
  const pipeline = token && monitor.pipelineOfToken(token.reveal());
  if (pipeline === undefined)
    throw new AppError(
      'unauthenticated',
      'The ingest token is missing or unknown; send it as Authorization: Bearer',
    );
  return pipeline;
}

/** Throws `forbidden` for the token of another engine's pipeline. */
function senderWith(
  engine: PushSettings['engine'],
  monitor: Monitor,
  token: Secret | undefined,
): PushSettings {
  const pipeline = senderOf(monitor, token);
  if (pipeline.engine !== engine)
    throw new AppError(
      'forbidden',
      `The token belongs to pipeline '${pipeline.id}', whose engine is ${pipeline.engine}`,
    );
  return pipeline;
}

/** `POST /ingest/samples`: all of the body's samples or none. */
export function ingestSamples(monitor: Monitor, token: Secret | undefined, body: unknown): object {
  return monitor.ingestSamples(senderWith('custom', monitor, token).id, body);
}

/** `POST /ingest/impstats`: rsyslog's statistics as it writes them. */
export function ingestImpstats(
  monitor: Monitor,
  token: Secret | undefined,
  instance: string | undefined,
  lines: string,
): object {
  return monitor.ingestImpstats(senderWith('rsyslog', monitor, token).id, instance, lines);
}

/** `POST /ingest/prometheus/write` and `/ingest/otlp/v1/metrics`: points that were read already. */
export function ingestPoints(
  monitor: Monitor,
  token: Secret | undefined,
  instance: string | undefined,
  points: readonly Point[],
): object {
  const pipeline = senderOf(monitor, token);
  if (pipeline.engine === 'rsyslog')
    throw new AppError(
      'forbidden',
      `The token belongs to pipeline '${pipeline.id}', whose engine is rsyslog; its statistics go to /ingest/impstats`,
    );
  return monitor.ingestPoints(pipeline.id, instance, points);
}
