import * as z from 'zod';
import { rendered } from '../expressions/template.ts';
import { formatDuration } from '../lib/duration.ts';
import { templateText } from '../targets/template-text.ts';
import { definePosted } from './posted.ts';

const BY_THE_SEARCH = 'For whoever runs the search: what is posted has been judged already.';

const schema = z.strictObject({
  savedQueryId: z
    .string()
    .regex(/^[^/\p{Cc}]{1,512}$/u, 'must be 1 to 512 characters without "/"')
    .describe('The saved search: meant are the keys that are equal to it, or begin with it and a slash.'),
  message: templateText
    .refine(({ text }) => text !== '' && text.length <= 1000, { error: 'must be 1 to 1000 characters' })
    .describe('What people are told; a field of the event stands as `${field}`.'),
  triggerType: z.enum(['resultsCount', 'custom']).optional().describe(`What triggers. ${BY_THE_SEARCH}`),
  triggerComparator: z
    .enum(['>', '<', '===', '!==', '>=', '<=', '='])
    .optional()
    .describe(`How the results are compared. ${BY_THE_SEARCH}`),
  triggerCount: z.number().optional().describe(`With how many they are compared. ${BY_THE_SEARCH}`),
  trigger: z.string().max(65_536).optional().describe(`Filter of the results. ${BY_THE_SEARCH}`),
});

/** A saved search that found what it looks for, as whoever runs it posts. */
export const search = definePosted({
  id: 'search',
  name: 'Search Condition',
  type: 'search',
  category: 'search',
  description: 'Whoever runs a saved search posted that it found something.',
  adds: ['savedQueryId'],
  schema,
  topic: ({ savedQueryId }) => savedQueryId,
  describe({ key, fields, openMs }, { savedQueryId, message }) {
    const own = { ...fields, savedQueryId };
    if (openMs !== undefined)
      return { fields: own, text: `Search ${key} finds nothing any more after ${formatDuration(openMs)}` };
    const { text, ...gaps } = rendered(message, { ...own, key });
    return { fields: own, text: `Search ${key}: ${text}`, gaps: { setting: 'message', ...gaps } };
  },
});
