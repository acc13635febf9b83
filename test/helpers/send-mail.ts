import { withDeliveryHints } from '../../src/events/delivery-hints.ts';
import type { HeadgateEvent } from '../../src/events/event.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createDial } from '../../src/lib/dial.ts';
import type { AddressPolicy, Resolve } from '../../src/lib/http/guard.ts';
import type { Outcome } from '../../src/targets/outcome.ts';
import { smtp } from '../../src/targets/smtp/smtp.ts';
import { alarm } from './any-event.ts';
import { noHttp } from './no-http.ts';

interface Sending {
  readonly events?: readonly HeadgateEvent[];
  /** Of targetConfigs; null when it has none for this target. */
  readonly conf?: object | null;
  readonly internal?: Readonly<Record<string, unknown>>;
  readonly deliveryId?: string;
  /** Of the attempt before: what it left to do. */
  readonly after?: Outcome;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly warn?: (reason: string) => void;
  readonly policy?: Partial<AddressPolicy> & { readonly resolve?: Resolve };
}

let count = 0;

/** Sends once to a target of these settings, the mail server being on loopback and asking for no password. */
export function sendMail(settings: object, sending: Sending = {}): Promise<Outcome> {
  const {
    conf = { emailRecipient: { to: 'ops@example.com' } },
    events = [alarm],
    internal,
    policy,
  } = sending;
  const target = smtp.configure({
    id: 'mail',
    type: 'smtp',
    host: '127.0.0.1',
    smtpUsername: '',
    smtpPassword: '',
    from: 'Headgate <headgate@example.com>',
    ...settings,
  });
  const steered = { ...internal, ...(conf !== null && { __targetConfigs: { mail: conf } }) };
  return target.send(
    events.map(event => withDeliveryHints(event, { ...event, ...steered })),
    {
      deliveryId: sending.deliveryId ?? `delivery-${++count}`,
      ...(sending.after?.kind === 'retry' &&
        sending.after.rest !== undefined && { rest: sending.after.rest }),
      http: noHttp,
      dial: createDial({ privateAddresses: 'allow', allowedAddresses: [], ...policy }),
      secretOf: () => undefined,
      clock: sending.clock ?? systemClock,
      signal: sending.signal ?? new AbortController().signal,
      logFolder: '/nowhere',
      ...(sending.warn && { warn: sending.warn }),
    },
  );
}
