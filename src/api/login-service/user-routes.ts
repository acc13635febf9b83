import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { BrowserSession } from '../../auth/sessions/sessions.ts';
import type { LoginRequest, PasswordLogin } from '../../auth/users/login.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { readInput } from '../../lib/problem-list.ts';
import type { CallLimits } from '../call-limits.ts';
import { setSessionCookie } from '../cookies.ts';
import { createErrorWriter, organizationErrorBody } from '../errors.ts';
import { readJsonBodies } from '../hooks.ts';
import { addSignInPage, SIGN_IN_ROUTES } from '../page.ts';
import { addSession, SESSION_PREFIX, type SessionExtension, type SignIn, sessionRoutes } from '../session.ts';
import { credentialsSchema, MOST_LOGIN_BYTES } from '../v1/auth.ts';
import { ORGANIZATIONS_PREFIX } from '../v1/organization-operation.ts';
import { addOrganizationRoutes, type OrganizationRoutesOptions } from '../v1/organizations.ts';

const workspaceLoginSchema = z.strictObject({
  workspace: z.string().min(1).max(63),
  state: z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be the state that the page of the workspace has made'),
});

const passwordChangeSchema = z.strictObject({ currentPassword: z.string(), password: z.string() });

interface WorkspaceLoginOptions {
  /**
   * Answers the address that signs the browser in at the page of the workspace. Throws `not-found` for a workspace that
   * the user cannot enter.
   */
  readonly redirectToWorkspace: (
    session: BrowserSession,
    workspace: string,
    state: string,
  ) => Promise<string>;
  /** Changes the user's own password, which ends all sessions, and begins another. Throws as `Users.updateOwn`. */
  readonly changePassword: (
    session: BrowserSession,
    passwordChangeSchema: {
      readonly currentPassword: string;
      readonly password: string;
      readonly address: string;
    },
  ) => Promise<{ readonly secret: string }>;
}

const WORKSPACE_LOGIN_ROUTES = [
  { method: 'POST', path: '/hand-over' },
  { method: 'POST', path: '/password' },
] as const;

/** Routes for a user who is signed in at the login service. */
const workspaceLoginRoutes = ({
  redirectToWorkspace,
  changePassword,
}: WorkspaceLoginOptions): SessionExtension => ({
  routes: WORKSPACE_LOGIN_ROUTES,
  credentials: memberCredentialsSchema,
  add(scope, browsers) {
    scope.post('/hand-over', { bodyLimit: MOST_LOGIN_BYTES }, async request => {
      const input = readInput(workspaceLoginSchema, request.body);
      const { session } = await browsers.get(request);
      return { location: await redirectToWorkspace(session, input.workspace, input.state) };
    });

    scope.post('/password', { bodyLimit: MOST_LOGIN_BYTES }, async (request, reply) => {
      const input = readInput(passwordChangeSchema, request.body);
      const { session } = await browsers.get(request);
      const { secret } = await changePassword(session, { ...input, address: request.ip });
      setSessionCookie(request, reply, secret);
      return { changed: true };
    });
  },
});

/** For programs; browsers use `/session/login`. */
const SIGN_IN_ROUTE = { method: 'POST', path: SESSION_PREFIX } as const;
export const USER_ROUTES = [SIGN_IN_ROUTE, ...SIGN_IN_ROUTES];

/** The routes below `/session` at the login service. */
export const MEMBER_SESSION_ROUTES = sessionRoutes(WORKSPACE_LOGIN_ROUTES);

const memberCredentialsSchema = credentialsSchema.extend({
  organization: z
    .string()
    .optional()
    .describe('Whose account it is, where several organizations have one of that address.'),
});

const loginSchema = memberCredentialsSchema.extend({
  newPassword: z.string().optional().describe('Takes the place of the password first.'),
});

export interface UserRoutesOptions extends WorkspaceLoginOptions {
  readonly signIn: SignIn;
  readonly login: PasswordLogin;
  /** Changes the user's own password and answers a token. Throws as `Users.updateOwn`. */
  readonly loginWithNewPassword: (
    loginSchema: LoginRequest & { readonly newPassword: string },
  ) => ReturnType<PasswordLogin>;
  readonly organizations: Omit<OrganizationRoutesOptions, 'limits' | 'writeError'>;
  /** URL under which people reach the login service. */
  readonly externalUrl: string;
  readonly limits: CallLimits;
}

/** Members sign in, go on to the pages of workspaces, and manage their organization. */
export async function addUserRoutes(
  server: FastifyInstance,
  options: UserRoutesOptions,
  { logger, clock }: { readonly logger: Logger; readonly clock: Pick<Clock, 'monotonic'> },
): Promise<void> {
  const { signIn, limits, organizations, externalUrl } = options;
  const writeError = createErrorWriter(logger, clock);
  addSignInPage(server);
  await server.register(async scope => {
    readJsonBodies(scope);
    scope.setErrorHandler(writeError);
    scope.post(
      SESSION_PREFIX,
      { bodyLimit: MOST_LOGIN_BYTES },
      async ({ body, ip: address, id: requestId }) => {
        const input = readInput(loginSchema, body);
        const { newPassword, ...known } = input;
        const asked = { ...known, address, requestId };
        return newPassword === undefined
          ? options.login(asked)
          : options.loginWithNewPassword({ ...asked, newPassword });
      },
    );
  });
  await server.register(
    async scope => {
      scope.setErrorHandler(writeError);
      await addSession(scope, {
        signInOf: () => signIn,
        externalUrl: () => externalUrl,
        limits,
        extension: workspaceLoginRoutes(options),
      });
    },
    { prefix: SESSION_PREFIX },
  );
  await server.register(
    scope =>
      addOrganizationRoutes(scope, {
        ...organizations,
        limits,
        writeError: createErrorWriter(logger, clock, organizationErrorBody),
      }),
    { prefix: ORGANIZATIONS_PREFIX },
  );
}
