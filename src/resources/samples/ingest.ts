import { AppError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Point } from '../../pipelines/formats/point.ts';
import { type Door, senderOf, senderWith } from './sender.ts';

/** `POST /ingest/samples`: all of the body's samples or none. */
export function ingestSamples(door: Door, token: Secret | undefined, body: unknown): object {
  return door.monitor.ingestSamples(senderWith('custom', door, token).id, body);
}

/** `POST /ingest/impstats`: rsyslog's statistics as it writes them. */
export function ingestImpstats(
  door: Door,
  token: Secret | undefined,
  instance: string | undefined,
  lines: string,
): object {
  return door.monitor.ingestImpstats(senderWith('rsyslog', door, token).id, instance, lines);
}

/** `POST /ingest/prometheus/write` and `/ingest/otlp/v1/metrics`: points that were read already. */
export function ingestPoints(
  door: Door,
  token: Secret | undefined,
  instance: string | undefined,
  points: readonly Point[],
): object {
  const pipeline = senderOf(door, token);
  if (pipeline.engine === 'rsyslog')
    throw new AppError(
      'forbidden',
      `The token belongs to pipeline '${pipeline.id}', whose engine is rsyslog; its statistics go to /ingest/impstats`,
    );
  return door.monitor.ingestPoints(pipeline.id, instance, points);
}
