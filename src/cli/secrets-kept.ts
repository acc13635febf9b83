import type { Client, Schemas } from '@headgate/client';

type Secret = Schemas['Secret'];

/** Where secrets are kept: a server, or the store itself while no server uses it. */
export interface SecretsKept {
  set(name: string, value: string): Promise<Secret>;
  list(): Promise<readonly Secret[]>;
  /** Refused while the configuration refers to it. */
  remove(name: string): Promise<Secret>;
}

export const keptByServer = ({ secrets }: Client): SecretsKept => ({
  set: (name, value) => secrets.put({ name, body: { value } }),
  list: () => secrets.list().all(),
  remove: name => secrets.remove({ name }),
});
