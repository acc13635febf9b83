/** An event as it arrives, whichever system it comes from. */
export interface Received {
  readonly id: string;
  readonly isAlarm: boolean;
  /** Epoch ms when it was posted. */
  readonly sent: number;
}

interface Fields {
  readonly key?: string;
  readonly status?: string;
  readonly sent?: number;
}

interface Alert {
  readonly status?: string;
  readonly labels?: { readonly key?: string };
  readonly annotations?: { readonly sent?: string };
}

interface Message extends Fields {
  readonly alerts?: readonly Alert[];
}

/** Reads a body: Alertmanager's message, or our events as a list, as lines, or one. */
export function readBody(body: string): Received[] {
  if (body.startsWith('[')) {
    const list: readonly Fields[] = JSON.parse(body);
    return list.map(received);
  }
  return body
    .split('\n')
    .filter(line => line !== '')
    .flatMap(readLine);
}

function readLine(line: string): Received[] {
  const message: Message = JSON.parse(line);
  if (message.alerts === undefined) return [received(message)];
  return message.alerts.map(({ status, labels, annotations }) =>
    received({
      key: labels?.key ?? '',
      status: status === 'firing' ? 'ALARM' : 'OK',
      sent: Number(annotations?.sent),
    }),
  );
}

const received = ({ key = '', status = '', sent = Number.NaN }: Fields): Received => ({
  id: `${key.replace(/^bench\//, '')} ${status}`,
  isAlarm: status === 'ALARM',
  sent,
});
