import { monotonicIds } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createEngine, type Engine, type EngineOptions } from '../../src/notifications/engine.ts';
import type { TestClock } from './clock.ts';

/** What an engine of a test needs to be given; the rest has values that no test looks at. */
type EngineParts = Pick<EngineOptions, 'storage' | 'components' | 'observedClock' | 'outbox'> &
  Partial<EngineOptions> & { readonly clock: TestClock };

export const testEngine = (parts: EngineParts): Engine =>
  createEngine({
    workspace: 'default',
    ids: monotonicIds(parts.clock),
    logger: silentLogger,
    externalUrl: () => undefined,
    instanceName: () => 'gate',
    operationalTarget: () => undefined,
    ...parts,
  });
