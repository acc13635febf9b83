import type { Settings } from '../../config/settings.ts';
import { checkConfig } from '../../resources/config/check.ts';
import { getConfigStatus } from '../../resources/config/status.ts';
import { listEngines } from '../../resources/engines/list.ts';
import { etagOf } from '../../resources/etag.ts';
import { getSettings } from '../../resources/settings/get.ts';
import { getSystemInfo } from '../../resources/settings/info.ts';
import { updateSettings } from '../../resources/settings/update.ts';
import { envelope, single } from '../envelope.ts';
import { get, type Route, route } from '../route.ts';
import { wireCheck } from '../wire/check.ts';
import { wireEngine } from '../wire/engine.ts';
import { wireInfo } from '../wire/info.ts';
import { sentSettings, wireSettings } from '../wire/settings.ts';

const conf = {
  path: '/system/settings/conf',
  shape: (settings: Settings) => single(wireSettings(settings)),
  etag: etagOf,
};

export const systemRoutes: readonly Route[] = [
  get('/system/config/status', 'Tell whether the files on disk are loaded', getConfigStatus, single),
  route({
    method: 'POST',
    path: '/system/config/check',
    summary: 'Check texts of files that are being edited',
    verb: checkConfig,
    shape: check => single(wireCheck(check)),
  }),
  route({ ...conf, method: 'GET', summary: 'Get the settings', verb: getSettings }),
  route({
    ...conf,
    method: 'PATCH',
    summary: 'Replace sections of the settings',
    verb: updateSettings,
    accept: sentSettings,
  }),
  get('/system/info', 'Tell what the server runs on', getSystemInfo, facts => single(wireInfo(facts))),
  get('/system/engines', 'List how reading each pipeline goes', listEngines, page =>
    envelope(page, wireEngine),
  ),
];
