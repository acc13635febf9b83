/** What both sides are asked to put into a token. */
export const AUDIENCE = 'https://api.cloud.example';
export const ISSUER = 'https://login.cloud.example';
export const ALGORITHMS = ['RS256', 'ES256'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** What a credential with the role editor may do: what is asked for as scope on both sides. */
export const SCOPE = [
  ...['inputs', 'outputs', 'notifications', 'targets', 'messages', 'silences', 'deliveries'].flatMap(
    resource => [`user:read:${resource}`, `user:update:${resource}`],
  ),
  ...['incidents', 'credentials', 'members', 'workspaces'].map(resource => `user:read:${resource}`),
].join(' ');

/** A server under test that issues tokens. */
export interface LoginService {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly tokenPath: string;
  readonly keysPath: string;
  readonly issuer: string;
  /** The form that asks for one. */
  readonly form: Readonly<Record<string, string>>;
  end(): Promise<void>;
}
