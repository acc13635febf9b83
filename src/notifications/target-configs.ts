import * as z from 'zod';
import { identifier } from '../lib/schemas.ts';
import { mailConf } from '../targets/mail-conf.ts';

const targetConfig = z.strictObject({
  id: identifier.describe('Id of the target.'),
  conf: mailConf.optional().describe('What an smtp target needs to know; for no other type.'),
});

/** What single targets need to know of a notification. */
export const targetConfigs = z
  .array(targetConfig)
  .max(1000)
  .superRefine((configs, context) => {
    for (const [index, { id }] of configs.entries())
      if (configs.findIndex(config => config.id === id) < index)
        context.addIssue({
          code: 'custom',
          path: [index, 'id'],
          message: 'must be listed once; an earlier item has the same id',
        });
  });
