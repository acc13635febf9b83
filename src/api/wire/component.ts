import type { DescribedComponent } from '../../resources/components/described.ts';
import { isoTimeOrNull } from '../envelope.ts';

/** A component's status in the family's form: times in epoch ms, healthCounts by colour. */
function wireStatus({ status }: DescribedComponent): object {
  return {
    health: status.health,
    healthCounts: status.healthCounts,
    timestamp: status.timestamp,
    metrics: status.metrics,
    ...(status.error !== null && { error: { message: status.error } }),
  };
}

/** An item of `/system/inputs` and `/system/outputs`; our own facts sit under `headgate`. */
export function wireComponent(described: DescribedComponent): object {
  const { settings, component, isDeclared, status } = described;
  return {
    ...settings,
    status: wireStatus(described),
    notifications: described.notifications,
    headgate: {
      ...(component && {
        pipeline: component.pipeline,
        engine: component.engine,
        engineId: component.engineId,
      }),
      declared: isDeclared,
      replicas: status.replicas,
      lastDataAt: isoTimeOrNull(status.lastDataAt),
    },
  };
}

/** An item of `/system/status/inputs` and `/system/status/outputs`. */
export const wireComponentStatus = (described: DescribedComponent): object => ({
  id: described.settings.id,
  type: described.settings.type,
  status: wireStatus(described),
});
