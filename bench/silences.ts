import { loadavg } from 'node:os';
import { silentLogger } from '../src/lib/logger.ts';
import type { Matcher } from '../src/notifications/matchers.ts';
import { ActiveSilences } from '../src/notifications/silences/silences.ts';
import { testClock } from '../test/helpers/clock.ts';
import { openTestStorage } from '../test/helpers/storage.ts';
import { opening } from '../test/helpers/transitions.ts';

/** As many as a workspace may have. */
const SILENCES = 10_000;
const MATCHES = 1000;

const KINDS: Readonly<Record<string, (at: number) => readonly Matcher[]>> = {
  'a value': at => [{ name: 'input', op: '=', value: `syslog:app${at}` }],
  'an expression with a text': at => [{ name: 'input', op: '=~', value: `.*app${at}.*` }],
  'an expression with a group': at => [{ name: 'input', op: '=~', value: `.*:(app|web)_${at}` }],
  'an expression that must not fit': at => [
    { name: 'input', op: '!=', value: '' },
    { name: 'severity', op: '=~', value: `fatal${at}` },
  ],
};

/** How long it takes to find the silences of an event, and to read them all at a start. */
async function measure(name: string, matchersOf: (at: number) => readonly Matcher[]): Promise<void> {
  const store = await openTestStorage();
  const clock = testClock();
  await store.storage.transaction(async tx => {
    for (let at = 0; at < SILENCES; at++)
      await tx.in('default').addSilence({
        id: `s${at}`,
        matchers: JSON.stringify(matchersOf(at)),
        starts_at: 0,
        ends_at: clock.now() + 3_600_000,
        until_resolved: 0,
        comment: 'bench',
        created_by: 'bench',
        created_at: 0,
      });
  });
  const { storage } = store;
  const silences = new ActiveSilences({ workspace: 'default', storage, clock, logger: silentLogger });
  const begun = process.cpuUsage();
  await silences.start(() => {});
  const { user } = process.cpuUsage(begun);
  const { event } = opening();
  const times = Array.from({ length: MATCHES }, () => {
    const at = performance.now();
    silences.silenceFor({ ...event, input: 'syslog:frontend_eu_west_1' });
    return performance.now() - at;
  }).sort((one, other) => one - other);
  const ms = (share: number): string => (times[Math.floor(MATCHES * share)] ?? 0).toFixed(3);
  console.log(
    `${name}: read in ${Math.round(user / 1000)} ms of CPU; matched in p50 ${ms(0.5)}, p99 ${ms(0.99)} ms`,
  );
  await silences.stop();
  await store.close();
}

async function main(): Promise<void> {
  console.log(`${SILENCES} silences, ${MATCHES} events, load ${loadavg()[0]?.toFixed(1)}`);
  for (const [name, matchersOf] of Object.entries(KINDS)) await measure(name, matchersOf);
}

await main();
// The store that others are copied from is kept open for those that never come.
process.exit();
