import { getInput, getOutput } from '../../resources/components/get.ts';
import { listInputs, listOutputs } from '../../resources/components/list.ts';
import { envelope, single } from '../envelope.ts';
import { get, type Route } from '../route.ts';
import { wireComponent, wireComponentStatus } from '../wire/component.ts';

export const componentRoutes: readonly Route[] = [
  get('/system/inputs', 'List the inputs that were seen', listInputs, page => envelope(page, wireComponent)),
  get('/system/inputs/:id', 'Get an input', getInput, item => single(wireComponent(item))),
  get('/system/outputs', 'List the outputs that were seen', listOutputs, page =>
    envelope(page, wireComponent),
  ),
  get('/system/outputs/:id', 'Get an output', getOutput, item => single(wireComponent(item))),
  get('/system/status/inputs', 'List the health of inputs', listInputs, page =>
    envelope(page, wireComponentStatus),
  ),
  get('/system/status/inputs/:id', 'Get the health of an input', getInput, item =>
    single(wireComponentStatus(item)),
  ),
  get('/system/status/outputs', 'List the health of outputs', listOutputs, page =>
    envelope(page, wireComponentStatus),
  ),
  get('/system/status/outputs/:id', 'Get the health of an output', getOutput, item =>
    single(wireComponentStatus(item)),
  ),
];
