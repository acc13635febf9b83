import * as z from 'zod';

/** A notification as the viewer received it. */
export interface Notice {
  /** Epoch ms. */
  readonly receivedAt: number;
  /** The delivery's id; a repeated delivery has the same. */
  readonly deliveryId: string;
  readonly status: 'ALARM' | 'OK';
  readonly text: string;
  readonly notification: string;
  readonly incidentId: string;
  /** The whole event, as it came. */
  readonly event: unknown;
}

const eventSchema = z.object({
  status: z.enum(['ALARM', 'OK']),
  _raw: z.string(),
  cribl_notification: z.string(),
  incidentId: z.string(),
});

/** The notices of a webhook's body, an event in each line; undefined when it holds anything else. */
export function noticesOf(body: string, deliveryId: string, receivedAt: number): Notice[] | undefined {
  const notices: Notice[] = [];
  for (const line of body.split('\n').filter(text => text.trim() !== '')) {
    const event = parseOrUndefined(line);
    const parsed = eventSchema.safeParse(event);
    if (!parsed.success) return undefined;
    const { status, _raw, cribl_notification, incidentId } = parsed.data;
    const shown = { text: _raw, notification: cribl_notification, incidentId };
    notices.push({ receivedAt, deliveryId, status, ...shown, event });
  }
  return notices;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
