import { getConfigStatus } from '../../resources/config/status.ts';
import { listEngines } from '../../resources/engines/list.ts';
import { envelope, single } from '../envelope.ts';
import { get, type Route } from '../route.ts';
import { wireEngine } from '../wire/engine.ts';

export const systemRoutes: readonly Route[] = [
  get('/system/config/status', 'Tell whether the files on disk are loaded', getConfigStatus, single),
  get('/system/engines', 'List how reading each pipeline goes', listEngines, page =>
    envelope(page, wireEngine),
  ),
];
