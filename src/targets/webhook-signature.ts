import { createHmac } from 'node:crypto';
import type { Secret } from '../lib/secret.ts';

interface Message {
  readonly id: string;
  /** Epoch seconds of the attempt. */
  readonly timestamp: number;
  /** As it goes over the wire. */
  readonly body: string | Buffer;
}

/** The fields of Standard Webhooks 1.0 that prove who sent a message; with two secrets it is signed by both. */
export function signed({ id, timestamp, body }: Message, secrets: readonly Secret[]): Record<string, string> {
  if (secrets.length === 0) return {};
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.reveal().slice('whsec_'.length), 'base64');
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
