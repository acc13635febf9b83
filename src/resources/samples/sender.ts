import type { IngestTokens } from '../../auth/ingest-tokens.ts';
import { AppError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Monitor } from '../../pipelines/monitor.ts';
import type { PushSettings } from '../../pipelines/settings.ts';

/** Where senders are let in. */
export interface Door {
  readonly monitor: Monitor;
  readonly ingestTokens: Pick<IngestTokens, 'pipelineOf' | 'isMistyped'>;
}

/**
 * Which pipeline a sender's token belongs to, one of the configuration or an ingest token. Throws `unauthenticated`, with
 * one text for all that count no more: whoever finds an old one learns nothing.
 */
export function senderOf({ monitor, ingestTokens }: Door, token: Secret | undefined): PushSettings {
  const presented = token?.reveal() ?? '';
  const pipeline = monitor.pipelineOfToken(presented) ?? issuedTo(presented);
  if (pipeline !== undefined) return pipeline;
  throw new AppError(
    'unauthenticated',
    ingestTokens.isMistyped(presented)
      ? 'The ingest token is mistyped or cut off: its checksum does not fit'
      : 'The ingest token is missing, unknown or over; send it as Authorization: Bearer',
  );

  function issuedTo(secret: string): PushSettings | undefined {
    const id = ingestTokens.pipelineOf(secret);
    return id === undefined ? undefined : monitor.pushing(id);
  }
}

/** Throws `forbidden` for the token of another engine's pipeline. */
export function senderWith(
  engine: PushSettings['engine'],
  door: Door,
  token: Secret | undefined,
): PushSettings {
  const pipeline = senderOf(door, token);
  if (pipeline.engine !== engine)
    throw new AppError(
      'forbidden',
      `The token belongs to pipeline '${pipeline.id}', whose engine is ${pipeline.engine}`,
    );
  return pipeline;
}
