import { type Command, Option } from 'commander';
import { systemClock } from '../lib/clock.ts';
import { type RoleFlags, roleOption, rolesIn, workspaceOption } from './organization-roles.ts';
import { timeAhead } from './time-of.ts';

export const NEVER = 'never';

/** What is said of a credential; what is left out stays, or has its default in a new one. */
export interface CredentialFlags extends RoleFlags {
  readonly name?: string;
  readonly description?: string;
  /** ISO 8601, or `never`. */
  readonly expires?: string;
  readonly allowFrom?: readonly string[];
}

export const withCredentialFlags = (command: Command, role: Option = roleOption()): Command =>
  command
    .addOption(role)
    .addOption(workspaceOption())
    .option('--description <text>', 'what it is for')
    .addOption(
      new Option(
        '--expires <time>',
        'when it ends: in how long, such as 90d, a time such as 2026-12-31T00:00:00Z, or never',
      ).argParser(text => (text === NEVER ? text : timeAhead(text, systemClock.now()))),
    )
    .addOption(
      new Option(
        '--allow-from <range>',
        'an address or a range it may come from; may be given again, or any',
      ).argParser((text: string, before: readonly string[] = []) =>
        text === 'any' ? [] : [...before, text],
      ),
    );

/** As the management plane has it. Throws as `rolesIn`. */
export function wireFields(flags: CredentialFlags): object {
  const { name, description, expires, allowFrom } = flags;
  const roles = rolesIn(flags);
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(roles !== undefined && { roles }),
    ...(expires !== undefined && { expiresDate: expires === NEVER ? null : expires }),
    ...(allowFrom !== undefined && { ipAllowlist: allowFrom }),
  };
}
