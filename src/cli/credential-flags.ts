import type { RoleFlags } from './organization.ts';

export const NEVER = 'never';

/** The fields of a credential; one that is left out stays, or has its default in a new credential. */
export interface CredentialFlags extends RoleFlags {
  readonly name?: string;
  readonly description?: string;
  /** ISO 8601, or `never`. */
  readonly expires?: string;
  readonly allowFrom?: readonly string[];
}
