import { createServer } from 'node:http';
import { listenLocally } from '../../test/acceptance/listen-locally.ts';

interface Line {
  readonly key?: string;
  readonly number?: number;
  readonly status?: string;
}

interface Account {
  readonly delivered: number;
  /** Came again under the webhook-id of the first time, which is what a receiver can drop. */
  readonly repeated: number;
  /** What must not be: another webhook-id for the same event, or one that came before its predecessor. */
  readonly faults: readonly string[];
}

/** A receiver that keeps account of every event of every subject. The events of a subject are numbered from 1. */
export interface Ledger {
  readonly url: string;
  delivered(): number;
  /** The account, held against the last number of each subject that was accepted. */
  settle(accepted: ReadonlyMap<string, number>): Account;
  end(): Promise<void>;
}

const MOST_FAULTS = 1000;

export async function openLedger(): Promise<Ledger> {
  /** By subject the webhook-ids of its events, in the order of their numbers. */
  const subjects = new Map<string, string[]>();
  const faults: string[] = [];
  let delivered = 0;
  let repeated = 0;

  function fault(text: string): void {
    if (faults.length < MOST_FAULTS) faults.push(text);
  }

  function take(webhookId: string, { key = '', number = 0, status }: Line): void {
    const ids = subjects.get(key) ?? [];
    subjects.set(key, ids);
    const known = ids[number - 1];
    if (known === webhookId) repeated += 1;
    else if (known !== undefined) fault(`${key} ${number} came as ${known} and as ${webhookId}`);
    else if (number !== ids.length + 1) fault(`${key} ${number} came after ${ids.length}`);
    else {
      if (status !== (number % 2 === 1 ? 'ALARM' : 'OK')) fault(`${key} ${number} came as ${status}`);
      ids.push(webhookId);
      delivered += 1;
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const webhookId = request.headers['webhook-id']?.toString() ?? '';
      for (const line of Buffer.concat(chunks).toString('utf8').split('\n')) {
        if (line === '') continue;
        const event: Line = JSON.parse(line);
        take(webhookId, event);
      }
      response.writeHead(200).end();
    });
  });
  const { url, end } = await listenLocally(server);
  return {
    url: `${url}/hook`,
    delivered: () => delivered,
    settle(accepted) {
      for (const [key, number] of accepted) {
        const came = subjects.get(key)?.length ?? 0;
        if (came !== number) fault(`${key}: ${number} were accepted and ${came} came`);
      }
      return { delivered, repeated, faults };
    },
    end,
  };
}
