import { grantsOf } from '../../auth/permissions.ts';
import { type RuledWrite, ruleSecrets, type SecretWrite } from '../../config/secret-rules.ts';
import type { Call } from '../verb.ts';
import type { Present } from './noun.ts';

interface Written extends Pick<SecretWrite, 'schema' | 'owner' | 'item'> {
  /** Undefined for a new item. */
  readonly present: Present | undefined;
}

/** The item as its file may hold it, and the secrets to store before; throws as `ruleSecrets` does. */
export const withStoredSecrets = ({ actor }: Call, { schema, owner, item, present }: Written): RuledWrite =>
  ruleSecrets({
    schema,
    owner,
    item,
    inFile: present?.inFile,
    inForce: present?.inForce,
    mayRefer: grantsOf(actor).has('update:settings'),
  });
