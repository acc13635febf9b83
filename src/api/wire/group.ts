import * as z from 'zod';
import type { Group } from '../../resources/groups/groups.ts';
import type { Shape } from '../shape.ts';

const shown = z.object({
  id: z.string(),
  name: z.string(),
  type: z.literal('stream'),
  isFleet: z.literal(false),
  headgate: z.object({ pipelines: z.array(z.string()).readonly() }).describe('What Headgate knows of it.'),
});
export const groupShape: Shape = { name: 'Group', schema: shown };

/** A group as the family's clients know groups of workers; our own facts sit under `headgate`. */
export const wireGroup = ({ id, pipelines }: Group): z.output<typeof shown> => ({
  id,
  name: id,
  type: 'stream',
  isFleet: false,
  headgate: { pipelines },
});
