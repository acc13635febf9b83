import * as z from 'zod';
import { grantsOf } from '../auth/actor.ts';
import type { Configuration } from '../config/configuration.ts';
import { childOf, valueAt } from '../config/schema-walk.ts';
import { maskedAddress, shownSettings } from '../config/secrets/shown.ts';
import type { PipelineState } from '../pipelines/components/component.ts';
import { listPageOf, pageQuery } from './paging.ts';
import { defineVerb } from './verb.ts';

/** The addresses of pipelines as reads of the settings show them, by id. */
function shownAddresses(now: Configuration): ReadonlyMap<string, unknown> {
  const shown = valueAt(shownSettings(now), ['pipelines']);
  return new Map(now.settings.pipelines.map(({ id }, index) => [id, childOf(childOf(shown, index), 'url')]));
}

/** How reading each pipeline goes. Those who may not change settings see of an address with parameters its host only. */
export const listEngines = defineVerb({
  permission: 'read:inputs',
  input: z.object(pageQuery),
  run({ actor, context }, query) {
    const addresses = shownAddresses(context.configuration());
    const mayChange = grantsOf(actor).has('update:settings');
    const urlOf = ({ id }: PipelineState): string | null => {
      const url = addresses.get(id);
      if (typeof url !== 'string') return null;
      return mayChange || !url.includes('?') ? url : (maskedAddress(url) ?? url);
    };
    const page = listPageOf(query, context.components.pipelines());
    return { ...page, items: page.items.map(state => ({ ...state, url: urlOf(state) })) };
  },
});
