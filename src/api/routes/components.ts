import { createInput, createOutput } from '../../resources/components/create.ts';
import type { DescribedComponent } from '../../resources/components/described.ts';
import { getInput, getOutput } from '../../resources/components/get.ts';
import { listInputs, listOutputs } from '../../resources/components/list.ts';
import { removeInput, removeOutput } from '../../resources/components/remove.ts';
import { updateInput, updateOutput } from '../../resources/components/update.ts';
import { etagOf } from '../../resources/etag.ts';
import { item, list } from '../envelope.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';
import {
  declaredShape,
  inputShape,
  inputStatusShape,
  outputShape,
  outputStatusShape,
  wireComponent,
  wireComponentStatus,
} from '../wire/component.ts';

const KINDS = [
  {
    noun: 'input',
    shape: inputShape,
    statusShape: inputStatusShape,
    verbs: { list: listInputs, get: getInput, create: createInput, update: updateInput, remove: removeInput },
    example: { id: 'app', type: 'syslog', added: { id: 'shop', type: 'http' } },
  },
  {
    noun: 'output',
    shape: outputShape,
    statusShape: outputStatusShape,
    verbs: {
      list: listOutputs,
      get: getOutput,
      create: createOutput,
      update: updateOutput,
      remove: removeOutput,
    },
    example: { id: 'lake', type: 's3', added: { id: 'archive', type: 's3' } },
  },
] as const;

export const componentRoutes: readonly Route[] = KINDS.flatMap(
  ({ noun, shape, statusShape, verbs, example }) => {
    const path = `/system/${noun}s`;
    const params = { id: example.id };
    const added = { params: { id: example.added.id } };
    const one = {
      grouped: true,
      answer: item(shape, wireComponent),
      etag: ({ settings }: DescribedComponent) => etagOf(settings),
    };
    return [
      route({
        id: `${noun}s.list`,
        method: 'GET',
        path,
        summary: `List the ${noun}s that were seen or are declared`,
        grouped: true,
        verb: verbs.list,
        answer: list(shape, wireComponent),
        example: { query: { type: example.type, limit: '10' } },
      }),
      route({
        ...one,
        id: `${noun}s.create`,
        method: 'POST',
        path,
        summary: `Declare an ${noun}`,
        verb: verbs.create,
        takes: { shape: declaredShape(noun) },
        errors: WRITE_ERRORS,
        example: { body: { ...example.added, description: 'Keys of your own are kept.' } },
      }),
      route({
        ...one,
        id: `${noun}s.get`,
        method: 'GET',
        path: `${path}/:id`,
        summary: `Get an ${noun}`,
        verb: verbs.get,
        example: { params },
      }),
      route({
        ...one,
        id: `${noun}s.update`,
        method: 'PATCH',
        path: `${path}/:id`,
        summary: `Change what is declared of an ${noun}`,
        description: 'The first change of one that was only seen declares it.',
        verb: verbs.update,
        takes: { shape: declaredShape(noun), kind: 'part' },
        errors: WRITE_ERRORS,
        example: { ...added, body: { disabled: true } },
      }),
      route({
        ...one,
        id: `${noun}s.remove`,
        method: 'DELETE',
        path: `${path}/:id`,
        summary: `Remove the declaration of an ${noun}`,
        verb: verbs.remove,
        errors: WRITE_ERRORS,
        example: added,
      }),
      route({
        id: `${noun}s.listStatus`,
        method: 'GET',
        path: `/system/status/${noun}s`,
        summary: `List the health of ${noun}s`,
        grouped: true,
        verb: verbs.list,
        answer: list(statusShape, wireComponentStatus),
      }),
      route({
        id: `${noun}s.getStatus`,
        method: 'GET',
        path: `/system/status/${noun}s/:id`,
        summary: `Get the health of an ${noun}`,
        grouped: true,
        verb: verbs.get,
        answer: item(statusShape, wireComponentStatus),
        example: { params },
      }),
    ];
  },
);
