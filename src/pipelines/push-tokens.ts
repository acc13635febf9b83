import { createHash, timingSafeEqual } from 'node:crypto';
import type { PipelineSettings, PushSettings } from './settings.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Finds the pipeline a presented token belongs to. Every token is compared, each in the same time, so that timing tells nothing. */
export function createTokenLookup(
  pipelines: readonly PipelineSettings[],
): (presented: string) => PushSettings | undefined {
  const tokens = pipelines.flatMap(settings =>
    settings.push ? [{ settings, hash: digest(settings.token.reveal()) }] : [],
  );
  return presented => {
    const hash = digest(presented);
    let found: PushSettings | undefined;
    for (const token of tokens) if (timingSafeEqual(token.hash, hash)) found = token.settings;
    return found;
  };
}
