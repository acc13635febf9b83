import * as z from 'zod';
import type { Session } from '../auth/sessions.ts';
import { invalidInput } from '../resources/verb.ts';
import { MOST_BYTES } from './login.ts';
import type { MoreOfSession } from './session.ts';
import { setSessionCookie } from './session-cookie.ts';

const way = z.strictObject({
  workspace: z.string().min(1).max(63),
  state: z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be the state that the page of the workspace has made'),
});

const change = z.strictObject({ currentPassword: z.string(), password: z.string() });

export interface HandOverOptions {
  /**
   * Where the browser goes on, signed in at the page of the workspace. Throws `not-found` for a workspace in which the
   * user has no part.
   */
  readonly handOver: (session: Session, workspace: string, state: string) => Promise<string>;
  /** Changes the own password, which ends all sessions, and begins another. Throws as `Users.updateOwn`. */
  readonly changePassword: (
    session: Session,
    change: { readonly currentPassword: string; readonly password: string; readonly address: string },
  ) => Promise<{ readonly secret: string }>;
}

/** What the sign-in page of the login service asks for whoever is signed in there. */
export const handOverRoutes = ({ handOver, changePassword }: HandOverOptions): MoreOfSession => ({
  routes: [
    { method: 'POST', path: '/hand-over' },
    { method: 'POST', path: '/password' },
  ],
  add(scope, browsers) {
    scope.post('/hand-over', { bodyLimit: MOST_BYTES }, async request => {
      const parsed = way.safeParse(request.body);
      if (!parsed.success) throw invalidInput(parsed.error);
      const { session } = await browsers.get(request);
      return { location: await handOver(session, parsed.data.workspace, parsed.data.state) };
    });

    scope.post('/password', { bodyLimit: MOST_BYTES }, async (request, reply) => {
      const parsed = change.safeParse(request.body);
      if (!parsed.success) throw invalidInput(parsed.error);
      const { session } = await browsers.get(request);
      const { secret } = await changePassword(session, { ...parsed.data, address: request.ip });
      setSessionCookie(request, reply, secret);
      return { changed: true };
    });
  },
});
