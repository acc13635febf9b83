import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Login, LoginRequest } from '../../auth/login.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { invalidInput } from '../../resources/verb.ts';
import { readJsonBodies } from '../bodies.ts';
import type { CallLimits } from '../call-limits.ts';
import { createErrorWriter, managementErrorBody } from '../errors.ts';
import { type HandOverOptions, handOverRoutes } from '../hand-over.ts';
import { credentials, MOST_BYTES } from '../login.ts';
import { ORGANIZATIONS_PREFIX } from '../organizations/operation.ts';
import { addOrganizations, type OrganizationsOptions } from '../organizations/served.ts';
import { addSignInPage, SIGN_IN_ROUTES } from '../page.ts';
import { addSession, SESSION_PREFIX, type SignIn } from '../session.ts';

/** Where a program signs a member in; browsers have `/session/login`. */
const SIGN_IN_ROUTE = { method: 'POST', path: SESSION_PREFIX } as const;
export const PEOPLE_ROUTES = [SIGN_IN_ROUTE, ...SIGN_IN_ROUTES];

const request = credentials.extend({
  newPassword: z.string().optional().describe('Takes the place of the password first.'),
});

export interface PeopleOptions extends HandOverOptions {
  readonly signIn: SignIn;
  readonly login: Login;
  /** Changes the own password and answers a token with it. Throws as `Users.updateOwn`. */
  readonly renew: (request: LoginRequest & { readonly newPassword: string }) => ReturnType<Login>;
  readonly organizations: Omit<OrganizationsOptions, 'limits' | 'writeError'>;
  /** Where people reach the login service. */
  readonly externalUrl: string;
  readonly limits: CallLimits;
}

/** Members: how they sign in, go on to the pages of workspaces, and manage their organization. */
export async function addPeople(
  server: FastifyInstance,
  options: PeopleOptions,
  { logger, clock }: { readonly logger: Logger; readonly clock: Pick<Clock, 'monotonic'> },
): Promise<void> {
  const { signIn, limits, organizations, externalUrl } = options;
  const writeError = createErrorWriter(logger, clock);
  addSignInPage(server);
  await server.register(async scope => {
    readJsonBodies(scope);
    scope.setErrorHandler(writeError);
    scope.post(SESSION_PREFIX, { bodyLimit: MOST_BYTES }, async ({ body, ip: address, id: requestId }) => {
      const parsed = request.safeParse(body);
      if (!parsed.success) throw invalidInput(parsed.error);
      const { newPassword, ...known } = parsed.data;
      const asked = { ...known, address, requestId };
      return newPassword === undefined ? options.login(asked) : options.renew({ ...asked, newPassword });
    });
  });
  await server.register(
    async scope => {
      scope.setErrorHandler(writeError);
      await addSession(scope, {
        signInOf: () => signIn,
        externalUrl: () => externalUrl,
        limits,
        more: handOverRoutes(options),
      });
    },
    { prefix: SESSION_PREFIX },
  );
  await server.register(
    scope =>
      addOrganizations(scope, {
        ...organizations,
        limits,
        writeError: createErrorWriter(logger, clock, managementErrorBody),
      }),
    { prefix: ORGANIZATIONS_PREFIX },
  );
}
