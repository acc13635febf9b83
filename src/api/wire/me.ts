import * as z from 'zod';
import { type Actor, type Permission, ROLES } from '../../auth/permissions.ts';
import type { Shape } from '../shape.ts';

const me = z.object({
  id: z.string(),
  kind: z.enum(['user', 'credential', 'member']),
  name: z.string(),
  role: z.enum(ROLES),
  permissions: z.array(z.string()).readonly().describe('As in `read:inputs`.'),
});
export const meShape: Shape = { name: 'Me', schema: me };

interface Known {
  readonly actor: Actor;
  readonly permissions: readonly Permission[];
}

export const wireMe = ({ actor, permissions }: Known): z.output<typeof me> => ({
  id: actor.id,
  kind: actor.kind,
  name: actor.name,
  role: actor.role,
  permissions,
});
