import * as z from 'zod';
import { FILES } from '../../config/load.ts';

/** Texts of files by name; what is not named counts as it is in force. */
export const textsSchema = z.partialRecord(z.enum(FILES), z.string(), {
  error: issue =>
    issue.code === 'invalid_type'
      ? `must map names of files (${FILES.join(', ')}) to their texts`
      : undefined,
});
