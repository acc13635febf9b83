import * as z from 'zod';
import { itemBody } from '../config/item-body.ts';
import { defineVerb } from '../verb.ts';
import { changeSettings } from './change.ts';
import { viewSettings } from './view.ts';

/** Merges the body into the settings: maps into maps, null takes back to the default, everything else replaces. */
export const updateSettings = defineVerb({
  permission: 'update:settings',
  input: z.object({ body: itemBody, ifMatch: z.string().optional() }),
  run: (call, { body, ifMatch }) => changeSettings(call, { patch: body, ifMatch, view: viewSettings }),
});
