import type { Group } from '../../resources/groups/groups.ts';

/** A group as the family's clients know groups of workers; our own facts sit under `headgate`. */
export const wireGroup = ({ id, pipelines }: Group): object => ({
  id,
  name: id,
  type: 'stream',
  isFleet: false,
  headgate: { pipelines },
});
