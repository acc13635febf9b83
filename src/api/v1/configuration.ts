import * as z from 'zod';
import type { CheckFindings } from '../../config/check-files.ts';
import type { ConfigurationStatus } from '../../config/configuration.ts';
import { FILES, type FileTexts } from '../../config/load.ts';
import type { Shape } from '../operation.ts';

const problem = z.object({
  file: z.string().describe('A file, or `environment` or `flags`.'),
  line: z.int().describe('Counts from 1; 0 for what stands in no file.'),
  column: z.int().describe('Counts from 1; 0 for what stands in no file.'),
  path: z.string().describe('As in `targets[2].url`; empty for a whole file.'),
  message: z.string().describe('For a person; secrets in it are masked.'),
});
const found = {
  errors: z.array(problem).readonly().describe('What keeps it from taking effect.'),
  warnings: z.array(problem).readonly().describe('What takes effect and may not be meant.'),
};

const check = z.object({ ok: z.boolean().describe('Whether there are no errors.'), ...found });
export const checkShape: Shape = { name: 'ConfigurationCheck', schema: check };

/** The same as `headgate check --json` prints. */
export const wireCheck = ({ ok, errors, warnings }: CheckFindings): z.output<typeof check> => ({
  ok,
  errors,
  warnings,
});

const status = z.object({
  state: z.enum(['ok', 'error']).describe('Whether the files on disk are in force.'),
  loadedAt: z.iso.datetime().nullable().describe('When the configuration in force was read.'),
  ...found,
});
export const statusShape: Shape = { name: 'ConfigurationStatus', schema: status };

export const wireConfigurationStatus = (now: ConfigurationStatus): z.output<typeof status> => now;

const files = z.object({
  files: z
    .partialRecord(z.enum(FILES), z.string())
    .describe('The texts by the names of their files; secrets in them are masked.'),
});

export const configFilesShape: Shape = { name: 'ConfigurationFiles', schema: files };

export const wireConfigFiles = (texts: FileTexts): z.output<typeof files> => ({ files: texts });
