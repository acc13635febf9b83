import type { HttpClient } from '../lib/http.ts';
import type { SnsSettings } from './sns-settings.ts';

/** A keys' pair that cannot be had, with what to do; nothing was sent. */
export class KeysMissing extends Error {}

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface SnsAccess {
  readonly settings: SnsSettings;
  readonly http: HttpClient;
  readonly secretOf: (name: string) => string | undefined;
}

/** The id goes out with every request, so what does not look like one may be another secret. */
const PAIR = /^([A-Z0-9]{16,128}):([\x21-\x7e]{1,512})$/;

/** Undefined when the library is to find them. */
export function ownKeys({ settings, secretOf }: Pick<SnsAccess, 'secretOf' | 'settings'>): Keys | undefined {
  const { awsApiKey, awsSecretKey, awsAuthenticationMethod: method, awsSecret: name } = settings;
  if (method === 'manual' && awsApiKey !== undefined && awsSecretKey !== undefined)
    return { accessKeyId: awsApiKey.reveal(), secretAccessKey: awsSecretKey.reveal() };
  if (method !== 'secret' || name === undefined) return undefined;
  const [, accessKeyId, secretAccessKey] = PAIR.exec(secretOf(name)?.trim() ?? '') ?? [];
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new KeysMissing(`the secret '${name}' must hold ACCESS_KEY_ID:SECRET_ACCESS_KEY; store it as that`);
  return { accessKeyId, secretAccessKey };
}
