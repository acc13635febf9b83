import * as z from 'zod';
import { declaredSchema } from '../../config/declared-schema.ts';
import {
  createInput,
  createOutput,
  type DescribedComponent,
  getInput,
  getInputStatus,
  getOutput,
  getOutputStatus,
  listInputStatus,
  listInputs,
  listOutputStatus,
  listOutputs,
  removeInput,
  removeOutput,
  updateInput,
  updateOutput,
} from '../../resources/components.ts';
import { etagOf } from '../../resources/etag.ts';
import { isoTimeOrNull, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';

/** Refers to a schema that the document describes under that name. */
const referenceTo = (name: string) => z.custom<object>().meta({ $ref: `#/components/schemas/${name}` });

const count = z.int().min(0);

const status = z.object({
  health: z.enum(['Green', 'Yellow', 'Red', 'Unknown']),
  presence: z
    .enum(['present', 'gone', 'unknown'])
    .describe(
      '`gone` when the last page of its pipeline no longer names it; `unknown` while no page or push shows whether it is there.',
    ),
  healthCounts: z
    .object({ Green: count, Yellow: count, Red: count, Unknown: count })
    .describe('Replicas by health.'),
  timestamp: z
    .number()
    .describe(
      'Epoch ms of the last sign of life; 0 before the first, as Cribl-compatible clients read numbers only.',
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
const componentStatus = component
  .pick({ type: true, status: true })
  .extend({ id: z.string().describe('With `type=true` it begins with the type, as in `syslog:app`.') });

/** The settings that a body may declare; unknown keys are kept. */
const declaredShape = (resource: 'input' | 'output'): Shape => ({
  name: resource === 'input' ? 'Input' : 'Output',
  sentAs: resource === 'input' ? 'InputSettings' : 'OutputSettings',
  schema: declaredSchema,
});

const inputShape: Shape = { name: 'Input', schema: component };
const outputShape: Shape = { name: 'Output', schema: component };
const inputStatusShape: Shape = { name: 'InputStatus', schema: componentStatus };
const outputStatusShape: Shape = { name: 'OutputStatus', schema: componentStatus };

/** In Cribl's form: times in epoch ms, healthCounts by colour. */
const wireStatus = ({ status: now }: DescribedComponent): z.output<typeof status> => ({
  health: now.health,
  presence: now.presence,
  healthCounts: now.healthCounts,
  timestamp: now.timestamp ?? 0,
  metrics: now.metrics,
  error: now.error === null ? undefined : { message: now.error },
});

/** Undefined fields are not sent. Lists have thousands of these, and keys behind a spread cost 25 times as much. */
const joined = (settings: object, facts: object): object => Object.assign({}, settings, facts);

/** An item of `/system/inputs` and `/system/outputs`; our own fields sit under `headgate`. */
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

const KINDS = [
  {
    resource: 'input',
    shape: inputShape,
    statusShape: inputStatusShape,
    verbs: { list: listInputs, get: getInput, create: createInput, update: updateInput, remove: removeInput },
    statusVerbs: { list: listInputStatus, get: getInputStatus },
    example: { id: 'app', type: 'syslog', added: { id: 'shop', type: 'http' } },
  },
  {
    resource: 'output',
    shape: outputShape,
    statusShape: outputStatusShape,
    verbs: {
      list: listOutputs,
      get: getOutput,
      create: createOutput,
      update: updateOutput,
      remove: removeOutput,
    },
    statusVerbs: { list: listOutputStatus, get: getOutputStatus },
    example: { id: 'lake', type: 's3', added: { id: 'archive', type: 's3' } },
  },
] as const;

type ComponentKindRoutes = (typeof KINDS)[number];

const componentRoute = (shape: Shape) => ({
  grouped: true,
  answer: item(shape, wireComponent),
  etag: ({ settings }: DescribedComponent) => etagOf(settings),
});

function settingsRoutes({ resource, shape, verbs, example }: ComponentKindRoutes): Route[] {
  const path = `/system/${resource}s`;
  const params = { id: example.id };
  const added = { params: { id: example.added.id } };
  return [
    route({
      id: `${resource}s.list`,
      method: 'GET',
      path,
      summary: `List the ${resource}s that were seen or are declared`,
      grouped: true,
      verb: verbs.list,
      answer: list(shape, wireComponent),
      example: { query: { type: example.type, limit: '10' } },
    }),
    route({
      ...componentRoute(shape),
      id: `${resource}s.create`,
      method: 'POST',
      path,
      summary: `Declare an ${resource}`,
      verb: verbs.create,
      takes: { shape: declaredShape(resource) },
      errors: WRITE_ERRORS,
      example: { body: { ...example.added, description: 'Keys of your own are kept.' } },
    }),
    route({
      ...componentRoute(shape),
      id: `${resource}s.get`,
      method: 'GET',
      path: `${path}/:id`,
      summary: `Get an ${resource}`,
      verb: verbs.get,
      example: { params },
    }),
    route({
      ...componentRoute(shape),
      id: `${resource}s.update`,
      method: 'PATCH',
      path: `${path}/:id`,
      summary: `Change what is declared of an ${resource}`,
      description: 'The first change of one that was only seen declares it.',
      verb: verbs.update,
      takes: { shape: declaredShape(resource), kind: 'part' },
      errors: WRITE_ERRORS,
      example: { ...added, body: { disabled: true } },
    }),
    route({
      ...componentRoute(shape),
      id: `${resource}s.remove`,
      method: 'DELETE',
      path: `${path}/:id`,
      summary: `Remove the declaration of an ${resource}, and what is known of one that is gone`,
      description: `Its open incidents close. One that no file declares can only be removed when it is gone.`,
      verb: verbs.remove,
      errors: WRITE_ERRORS,
      example: added,
    }),
  ];
}

function statusRoutes({ resource, statusShape, statusVerbs: verbs, example }: ComponentKindRoutes): Route[] {
  const statusPath = `/system/status/${resource}s`;
  const params = { id: example.id };
  return [
    route({
      id: `${resource}s.listStatus`,
      method: 'GET',
      path: statusPath,
      summary: `List the health of ${resource}s`,
      grouped: true,
      verb: verbs.list,
      answer: list(statusShape, wireComponentStatus),
    }),
    route({
      id: `${resource}s.getStatus`,
      method: 'GET',
      path: `${statusPath}/:id`,
      summary: `Get the health of an ${resource}`,
      grouped: true,
      verb: verbs.get,
      answer: item(statusShape, wireComponentStatus),
      example: { params },
    }),
  ];
}

export const componentRoutes: readonly Route[] = KINDS.flatMap(kind => [
  ...settingsRoutes(kind),
  ...statusRoutes(kind),
]);
