import { createInput, createOutput } from '../../resources/components/create.ts';
import type { DescribedComponent } from '../../resources/components/described.ts';
import { getInput, getOutput } from '../../resources/components/get.ts';
import { listInputs, listOutputs } from '../../resources/components/list.ts';
import { removeInput, removeOutput } from '../../resources/components/remove.ts';
import { updateInput, updateOutput } from '../../resources/components/update.ts';
import { etagOf } from '../../resources/etag.ts';
import { envelope, single } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { wireComponent, wireComponentStatus } from '../wire/component.ts';

const one = {
  grouped: true,
  shape: (described: DescribedComponent) => single(wireComponent(described)),
  etag: ({ settings }: DescribedComponent) => etagOf(settings),
};

const KINDS = [
  {
    noun: 'input',
    verbs: { list: listInputs, get: getInput, create: createInput, update: updateInput, remove: removeInput },
  },
  {
    noun: 'output',
    verbs: {
      list: listOutputs,
      get: getOutput,
      create: createOutput,
      update: updateOutput,
      remove: removeOutput,
    },
  },
] as const;

export const componentRoutes: readonly Route[] = KINDS.flatMap(({ noun, verbs }) => {
  const path = `/system/${noun}s`;
  return [
    route({
      method: 'GET',
      path,
      summary: `List the ${noun}s that were seen or are declared`,
      grouped: true,
      verb: verbs.list,
      shape: page => envelope(page, wireComponent),
    }),
    route({ ...one, method: 'POST', path, summary: `Declare an ${noun}`, verb: verbs.create }),
    route({ ...one, method: 'GET', path: `${path}/:id`, summary: `Get an ${noun}`, verb: verbs.get }),
    route({ ...one, method: 'PATCH', path: `${path}/:id`, summary: `Change an ${noun}`, verb: verbs.update }),
    route({
      ...one,
      method: 'DELETE',
      path: `${path}/:id`,
      summary: `Remove the declaration of an ${noun}`,
      verb: verbs.remove,
    }),
    route({
      method: 'GET',
      path: `/system/status/${noun}s`,
      summary: `List the health of ${noun}s`,
      grouped: true,
      verb: verbs.list,
      shape: page => envelope(page, wireComponentStatus),
    }),
    route({
      method: 'GET',
      path: `/system/status/${noun}s/:id`,
      summary: `Get the health of an ${noun}`,
      grouped: true,
      verb: verbs.get,
      shape: described => single(wireComponentStatus(described)),
    }),
  ];
});
