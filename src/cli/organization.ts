import { HeadgateConnectionError, HeadgateError } from '@headgate/client';
import { type Command, Option } from 'commander';
import { AppError } from '../lib/errors.ts';
import { printItem } from './ask.ts';
import { EXIT, type Finish } from './exit.ts';
import { explain } from './explain.ts';
import type { Organization, OrganizationFlags } from './organization-api.ts';
import { complain } from './output.ts';
import { withServer } from './session.ts';

export const orgOption = (): Option =>
  new Option('--org <id>', 'the organization, for commands that manage one').env('HEADGATE_ORG');

export const withOrganization = (command: Command): Command => withServer(command).addOption(orgOption());

/** Asks the login service about an organization and says what it answered, or what stood in the way. */
export async function askOrganization(
  finish: Finish,
  flags: OrganizationFlags,
  work: (organization: Organization) => Promise<void>,
): Promise<void> {
  try {
    const { openOrganization } = await import('./organization-api.ts');
    await work(await openOrganization(flags));
    finish(EXIT.ok);
  } catch (error) {
    finish(explain(error));
  }
}

/** What is deleted cannot be brought back, and others notice at once: nobody is to do it by a slip. */
export const meantOption = (): Option => new Option('--yes', 'that it is meant').makeOptionMandatory();

/** Throws `invalid-request` when nothing stands in a change. */
export function assertChanges(body: object): void {
  if (Object.keys(body).length === 0)
    throw new AppError('invalid-request', 'name what is to be changed; --help lists the flags');
}

/** Shows a changed object as it is by now. Whoever changes what they are themselves has no token any more to ask with. */
export async function printChanged(read: () => Promise<object>, flags: OrganizationFlags): Promise<void> {
  try {
    printItem(await read(), flags);
  } catch (error) {
    if (!(error instanceof HeadgateError || error instanceof HeadgateConnectionError)) throw error;
    complain(`it is changed, and cannot be shown: ${error.message}`);
  }
}
