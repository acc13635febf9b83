import type { KeyLife } from '../auth/key-life.ts';
import type { ExpiryFact } from '../conditions/fact.ts';
import { encryptedOrigin, encryptedOrigins } from '../config/literal-addresses.ts';
import type { Configuration } from '../config/load.ts';
import type { Tls } from './tls.ts';

/** What is known to expire and concerns a workspace of that configuration: asked at each evaluation, from memory. */
export type FactSource = (configuration: ConfiguredFacts) => readonly ExpiryFact[];

/** What of a configuration says where certificates are shown. */
export type ConfiguredFacts = Pick<Configuration, 'settings' | 'targets'>;

/** What this process shows to whoever calls it. */
export const serverCertificate = (tls: Pick<Tls, 'notAfter'> | undefined): readonly ExpiryFact[] =>
  tls === undefined ? [] : [{ kind: 'certificate', key: 'server', expiresAt: tls.notAfter() }];

/** Where certificates are shown, by the key of their fact. */
interface Shown {
  readonly key: string;
  readonly origin: string;
}

const known = new WeakMap<ConfiguredFacts, readonly Shown[]>();

/** What pipelines and targets have shown, as far as this process has connected to them; `seen` is by origin. */
export function seenCertificates(
  configuration: ConfiguredFacts,
  seen: (origin: string) => number | undefined,
): readonly ExpiryFact[] {
  const shown = known.get(configuration) ?? shownTo(configuration);
  known.set(configuration, shown);
  return shown.map(({ key, origin }) => ({ kind: 'certificate', key, expiresAt: seen(origin) }));
}

const shownTo = ({ settings, targets }: ConfiguredFacts): Shown[] => [
  ...settings.pipelines.flatMap(pipeline => {
    const origin = pipeline.push ? undefined : encryptedOrigin(pipeline.url);
    return origin === undefined ? [] : [{ key: `pipeline/${pipeline.id}`, origin }];
  }),
  ...targets.flatMap(target => {
    const [origin] = encryptedOrigins(target.settings);
    return origin === undefined ? [] : [{ key: `target/${target.settings.id}`, origin }];
  }),
];

/** How long after its time a process that lives has turned the key. */
const TURNED_WITHIN_MS = 3_600_000;

/** It is turned by itself, so what is to be told is that this did not happen. */
export function signingKey(keys: Pick<KeyLife, 'turnsAt'>): readonly ExpiryFact[] {
  const dueAt = keys.turnsAt();
  const expiresAt = dueAt && dueAt + TURNED_WITHIN_MS;
  return [{ kind: 'credential', key: 'signing-key', expiresAt, renewsItself: true }];
}
