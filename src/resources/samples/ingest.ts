import { AppError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Monitor } from '../../pipelines/monitor.ts';
import type { PushSettings } from '../../pipelines/settings.ts';

/** Which pipeline a sender's token belongs to. Throws `unauthenticated`, or `forbidden` for another engine's token. */
function senderOf(monitor: Monitor, token: Secret | undefined, engine: PushSettings['engine']): PushSettings {
  const pipeline = token && monitor.pipelineOfToken(token.reveal());
  if (pipeline === undefined)
    throw new AppError(
      'unauthenticated',
      'The ingest token is missing or unknown; send it as Authorization: Bearer',
    );
  if (pipeline.engine !== engine)
    throw new AppError(
      'forbidden',
      `The token belongs to pipeline '${pipeline.id}', whose engine is ${pipeline.engine}`,
    );
  return pipeline;
}

/** `POST /ingest/samples`: all of the body's samples or none. */
export function ingestSamples(monitor: Monitor, token: Secret | undefined, body: unknown): object {
  return monitor.ingestSamples(senderOf(monitor, token, 'custom').id, body);
}

/** `POST /ingest/impstats`: rsyslog's statistics as it writes them. */
export function ingestImpstats(
  monitor: Monitor,
  token: Secret | undefined,
  instance: string | undefined,
  lines: string,
): object {
  return monitor.ingestImpstats(senderOf(monitor, token, 'rsyslog').id, instance, lines);
}
