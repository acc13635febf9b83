import * as z from 'zod';
import { FILES, type Texts } from '../../config/load.ts';
import type { Shape } from '../shape.ts';

const files = z.object({
  files: z
    .partialRecord(z.enum(FILES), z.string())
    .describe('The texts by the names of their files; secrets in them are masked.'),
});

export const configFilesShape: Shape = { name: 'ConfigurationFiles', schema: files };

export const wireConfigFiles = (texts: Texts): z.output<typeof files> => ({ files: texts });
