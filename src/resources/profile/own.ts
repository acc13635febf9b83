import type { UserFacts } from '../../auth/users.ts';
import { AppError } from '../../lib/errors.ts';
import type { Call } from '../verb.ts';

/** Throws `forbidden` for anybody else's id or name, whether it is there or not. */
export async function ownUser({ house, actor }: Call, reference: string): Promise<UserFacts> {
  if (reference !== actor.id && reference.toLowerCase() !== actor.name)
    throw new AppError(
      'forbidden',
      'Only the users themselves can do this; admins change users at /system/users/{id}',
    );
  return house.users.get(actor.id);
}
