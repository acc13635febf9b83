import * as z from 'zod';
import type { TestResult } from '../../delivery/test-send.ts';
import { mailAddresses } from '../../targets/mail-address.ts';
import { itemBody } from '../config/item-body.ts';
import { triedItem } from '../config/item-writes.ts';
import { defineVerb } from '../verb.ts';
import { targetNoun } from './noun.ts';

const body = z
  .strictObject({
    testEmails: z
      .array(mailAddresses)
      .max(100)
      .optional()
      .describe('Who gets the test of an smtp target; of other types nobody asks.'),
    target: itemBody
      .optional()
      .describe('Settings to test in place of those in force, as an update takes them; nothing keeps them.'),
  })
  .optional();

/**
 * Sends a test through what deliveries are sent through, and answers what came of it. With settings of the body it is
 * refused as an update with them would be, so that no secret goes elsewhere than where it was entered for.
 */
export const testTarget = defineVerb({
  permission: 'update:targets',
  input: z.object({ id: z.string().max(512), body }),
  async run(call, { id, body: asked }): Promise<TestResult> {
    const configuration =
      asked?.target === undefined
        ? call.house.configuration()
        : await triedItem(call, targetNoun, { id, body: asked.target });
    const targets = new Map(configuration.targets.map(target => [target.settings.id, target]));
    return call.house.testSend({ id, targets, asker: call.actor.name, emails: asked?.testEmails ?? [] });
  },
});
