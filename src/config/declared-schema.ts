import * as z from 'zod';
import { identifier } from '../lib/schemas.ts';

/** An item of inputs.yml or outputs.yml; every other key is kept as it is, and its name says whether it is a secret. */
export const declaredSchema = z
  .looseObject({
    id: identifier.describe('Unique identifier within its file.'),
    type: z.string().min(1).max(255).describe("The engine's word for its kind, such as syslog or s3."),
    disabled: z.boolean().default(false).describe('A disabled component is not expected to have data.'),
    group: identifier.default('default').describe('The group it belongs to.'),
  })
  .meta({ namesSecrets: true });
