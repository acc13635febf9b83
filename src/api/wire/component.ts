import * as z from 'zod';
import { declaredSchema } from '../../config/read-declared.ts';
import type { DescribedComponent } from '../../resources/components/described.ts';
import { isoTimeOrNull } from '../envelope.ts';
import type { Shape } from '../shape.ts';
import { referenceTo } from './reference.ts';

const count = z.int().min(0);

const status = z.object({
  health: z.enum(['Green', 'Yellow', 'Red', 'Unknown']),
  healthCounts: z
    .object({ Green: count, Yellow: count, Red: count, Unknown: count })
    .describe('Replicas by health.'),
  timestamp: z
    .number()
    .describe(
      'Epoch ms of the last sign of life; 0 before the first, as clients of the family read numbers only.',
    ),
  metrics: z
    .record(z.string(), z.number())
    .describe('Totals since it was first seen, and gauges as they are now.'),
  error: z.object({ message: z.string() }).optional().describe('Why it is not Green.'),
});

const component = declaredSchema.extend({
  status,
  notifications: z.array(referenceTo('Notification')).readonly().describe('The notifications that watch it.'),
  headgate: z
    .object({
      pipeline: z.string().optional().describe('The pipeline it was seen in.'),
      engine: z.string().optional(),
      engineId: z.string().optional().describe('What the engine calls it.'),
      declared: z.boolean().describe('Whether a file declares it.'),
      replicas: count.describe('How many instances of the pipeline have it.'),
      lastDataAt: z.iso.datetime().nullable().describe('When it last had data; null when none was seen.'),
    })
    .describe('What Headgate knows of it.'),
});
const componentStatus = component.pick({ id: true, type: true, status: true });

/** What a body may say of one; whatever else it holds is kept. */
export const declaredShape = (noun: 'input' | 'output'): Shape => ({
  name: noun === 'input' ? 'Input' : 'Output',
  sentAs: noun === 'input' ? 'InputSettings' : 'OutputSettings',
  schema: declaredSchema,
});

export const inputShape: Shape = { name: 'Input', schema: component };
export const outputShape: Shape = { name: 'Output', schema: component };
export const inputStatusShape: Shape = { name: 'InputStatus', schema: componentStatus };
export const outputStatusShape: Shape = { name: 'OutputStatus', schema: componentStatus };

/** A component's status in the family's form: times in epoch ms, healthCounts by colour. */
const wireStatus = ({ status: now }: DescribedComponent): z.output<typeof status> => ({
  health: now.health,
  healthCounts: now.healthCounts,
  timestamp: now.timestamp ?? 0,
  metrics: now.metrics,
  error: now.error === null ? undefined : { message: now.error },
});

/** What is undefined is not sent. Lists of thousands are made of these, and keys behind a spread cost 25 times as much. */
const joined = (settings: object, facts: object): object => Object.assign({}, settings, facts);

/** An item of `/system/inputs` and `/system/outputs`; our own facts sit under `headgate`. */
export function wireComponent(described: DescribedComponent): object {
  const { settings, component: seen, isDeclared, status: now } = described;
  const facts: Pick<z.output<typeof component>, 'status' | 'notifications' | 'headgate'> = {
    status: wireStatus(described),
    notifications: described.notifications,
    headgate: {
      pipeline: seen?.pipeline,
      engine: seen?.engine,
      engineId: seen?.engineId,
      declared: isDeclared,
      replicas: now.replicas,
      lastDataAt: isoTimeOrNull(now.lastDataAt),
    },
  };
  return joined(settings, facts);
}

/** An item of `/system/status/inputs` and `/system/status/outputs`. */
export const wireComponentStatus = (described: DescribedComponent): object => ({
  id: described.settings.id,
  type: described.settings.type,
  status: wireStatus(described),
});
