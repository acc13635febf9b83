import { digestOf, isSameDigest } from '../lib/digest.ts';
import type { PipelineSettings, PushSettings } from './settings.ts';

/** Finds the pipeline whose token in the configuration was presented. Every token is compared, each in the same time, so that timing tells nothing. */
export function createTokenLookup(
  pipelines: readonly PipelineSettings[],
): (presented: string) => PushSettings | undefined {
  const tokens = pipelines.flatMap(settings =>
    settings.push && settings.token !== undefined
      ? [{ settings, hash: digestOf(settings.token.reveal()) }]
      : [],
  );
  return presented => {
    const hash = digestOf(presented);
    let found: PushSettings | undefined;
    for (const token of tokens) if (isSameDigest(token.hash, hash)) found = token.settings;
    return found;
  };
}
