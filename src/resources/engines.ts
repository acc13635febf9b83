import * as z from 'zod';
import { type Configuration, SETTINGS_FILE } from '../config/configuration.ts';
import { childOf } from '../config/schema-walk.ts';
import { shownSettings } from '../config/secrets/shown.ts';
import { settingsSchema } from '../config/settings.ts';
import type { PipelineState } from '../pipelines/components/component.ts';
import type { Call } from './context.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { shownTo } from './shown-addresses.ts';
import { defineVerb } from './verb.ts';

/** The addresses of pipelines as this caller reads them in the settings, by id. */
function shownAddresses({ actor }: Call, now: Configuration): ReadonlyMap<string, unknown> {
  const { pipelines = [] } = shownSettings(now);
  const shown = shownTo(actor, SETTINGS_FILE, settingsSchema, { pipelines }).pipelines;
  return new Map(now.settings.pipelines.map(({ id }, index) => [id, childOf(childOf(shown, index), 'url')]));
}

/** How reading each pipeline goes. Those who may not change settings see of an address with parameters its host only. */
export const listEngines = defineVerb({
  permission: 'read:inputs',
  input: z.object(pageQuery),
  run(call, query) {
    const { context } = call;
    const addresses = shownAddresses(call, context.configuration());
    const urlOf = ({ id }: PipelineState): string | null => {
      const url = addresses.get(id);
      return typeof url === 'string' ? url : null;
    };
    const page = listPageOf(query, context.components.pipelines());
    return { ...page, items: page.items.map(state => ({ ...state, url: urlOf(state) })) };
  },
});
