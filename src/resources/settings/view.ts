import type { AuthSettings } from '../../auth/sso/settings.ts';
import type { Configuration } from '../../config/load.ts';
import { formatPath } from '../../config/problems.ts';
import type { Settings } from '../../config/settings.ts';
import type { Problem } from '../../lib/errors.ts';

/** Effective settings, whose secrets serialise as masks, and what is to be known of some of them. */
export interface SettingsView<Content extends object> {
  readonly settings: Content;
  /** Which settings wait for a restart, and which the file does not decide; by their paths in `settings`. */
  readonly notes: readonly Problem[];
}

export const viewSettings = (configuration: Configuration): SettingsView<Settings> => ({
  settings: configuration.settings,
  notes: notesOf(configuration),
});

/** The section `auth` alone. */
export const viewAuthSettings = (configuration: Configuration): SettingsView<AuthSettings> => ({
  settings: configuration.settings.auth,
  notes: notesOf(configuration).flatMap(({ path, message }) =>
    path.startsWith(AUTH) ? [{ path: path.slice(AUTH.length), message }] : [],
  ),
});

const AUTH = 'auth.';

const notesOf = ({ overridden, waiting }: Configuration): Problem[] => [
  ...waiting,
  ...overridden.map(({ path, name }) => ({
    path: formatPath(path),
    message: `is set by ${name}; what the file says has no effect until that goes`,
  })),
];
