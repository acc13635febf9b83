import { availableParallelism, loadavg } from 'node:os';
import type { HeadgateEvent } from '../src/events/event.ts';
import { compileExpression } from '../src/expressions/expression.ts';
import { createAddressGuard } from '../src/lib/http/guard.ts';
import { pagerDutyEvent } from '../src/targets/pager-duty/pager-duty.ts';
import { mailConf } from '../src/targets/recipients.ts';
import { slackMessage } from '../src/targets/slack/message.ts';
import { mailText } from '../src/targets/smtp/mail.ts';
import { snsMessage } from '../src/targets/sns/message.ts';

const ROUNDS = 7;
/** Of one round, after as many that are not counted. */
const TIMES = 50_000;

const EVENT: HeadgateEvent = {
  id: '0190-event',
  status: 'ALARM',
  condition: 'high-volume',
  cribl_notification: 'app_flood',
  incidentId: '0190-incident',
  severity: 'warn',
  _raw: 'Source syslog:app traffic volume greater than 10GB in 60s',
  _time: 1_767_225_660,
  starttime: 1_767_225_600,
  endtime: 1_767_225_660,
  input: 'syslog:app',
  bytes: 12_345_678_901,
  dataVolume: '10GB',
  timeWindow: '60s',
  hosts: ['web1', 'web2', 'web3'],
  cribl_host: 'headgate',
};

/** Processor time of one call in µs, the least of several rounds: others may be busy on this machine. */
function cost(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round <= ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let time = 0; time < TIMES; time++) work();
    const { user, system } = process.cpuUsage(before);
    if (round > 0) least = Math.min(least, (user + system) / TIMES);
  }
  return least;
}

function print(what: string, us: number): void {
  console.log(
    `${what.padEnd(48)}${us.toFixed(2).padStart(10)}${Math.round(1e6 / us)
      .toString()
      .padStart(14)}`,
  );
}

function evaluation(text: string): () => unknown {
  const compiled = compileExpression(text);
  if (!compiled.ok) throw new Error(compiled.problem);
  return () => compiled.expression.evaluate(EVENT);
}

console.log(
  `node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}; ${ROUNDS} rounds of ${TIMES}`,
);
console.log(`${''.padEnd(48)}${'CPU µs'.padStart(10)}${'a CPU second'.padStart(14)}`);

const EXPRESSIONS = [
  "status == 'ALARM'",
  "severity == 'error' || bytes > 1e9 && input.startsWith('syslog:')",
  "hosts.filter(host => host != 'web2').map(host => host.toUpperCase())",
  '`${input} had ${bytes} bytes in ${timeWindow}`',
] as const;
for (const text of EXPRESSIONS) print(`expression of ${text.length} characters`, cost(evaluation(text)));

const conf = mailConf.parse({ emailRecipient: { to: 'ops@example.com' } });
const pager = { id: 'pager', severity: 'error', routingKey: '0123456789abcdef0123456789abcdef' } as const;
print(
  'message of slack',
  cost(() => JSON.stringify(slackMessage([EVENT]))),
);
print(
  'message of pager_duty',
  cost(() => pagerDutyEvent(EVENT, pager)),
);
print(
  'message of smtp',
  cost(() => mailText([EVENT], { conf, now: 1_767_225_660_000, report: () => {} })),
);
print(
  'message of sns',
  cost(() => snsMessage([EVENT])),
);
print(
  'message of webhook',
  cost(() => JSON.stringify(EVENT)),
);

const guard = createAddressGuard({ privateAddresses: 'refuse', allowedAddresses: ['10.1.0.0/16'] });
for (const address of ['93.184.216.34', '10.1.2.3', '2606:2800:220:1::1', '::ffff:169.254.169.254'])
  print(
    `guard of ${address}`,
    cost(() => guard.refusal(address)),
  );
