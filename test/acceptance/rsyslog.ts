import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { daemon } from './daemon.ts';
import { temporaryFolder, writeFileText } from './harness.ts';

const RSYSLOGD = '/usr/sbin/rsyslogd';
const LINE_EVERY_MS = 100;

/** A private rsyslogd whose statistics go to Headgate through omprog and curl. */
export interface Rsyslog {
  /** Sends a line every 100 ms to its TCP input until the returned call. */
  startSending(): () => void;
}

interface Options {
  /** Of the imtcp input. */
  readonly name: string;
  /** Where the statistics are posted. */
  readonly url: string;
  readonly token: string;
  /** Forwards every line by TCP to this port of loopback, through the queue of an action `out_fwd`. */
  readonly forwardTo?: number;
}

export async function rsyslog({ name, url, token, forwardTo }: Options): Promise<Rsyslog> {
  const folder = temporaryFolder();
  const header = writeFileText(folder, 'header', `Authorization: Bearer ${token}\n`);
  const script = writeFileText(folder, 'push.sh', pushScript(url, header));
  chmodSync(script, 0o755);
  const portFile = join(folder, 'port');
  const configuration = writeFileText(
    folder,
    'rsyslog.conf',
    rsyslogConfiguration({ folder, name, script, portFile, forwardTo }),
  );
  await daemon(
    RSYSLOGD,
    ['-n', '-f', configuration, '-i', join(folder, 'pid')],
    () => existsSync(portFile) && readFileSync(portFile, 'utf8') !== '',
  );
  const port = Number(readFileSync(portFile, 'utf8'));
  return { startSending: () => startSending(port) };
}

/** A curl for each line: the smallest way there is to feed Headgate from an rsyslog without omhttp. */
const pushScript = (url: string, header: string): string => `#!/bin/sh
while IFS= read -r line; do
  printf '%s\\n' "$line" |
    curl --silent --show-error --max-time 5 --output /dev/null --header @'${header}' \\
      --header 'Content-Type: application/x-ndjson' --data-binary @- '${url}'
done
`;

const rsyslogConfiguration = (at: {
  readonly folder: string;
  readonly name: string;
  readonly script: string;
  readonly portFile: string;
  readonly forwardTo: number | undefined;
}): string => `
global(workDirectory="${at.folder}")
module(load="imtcp")
module(load="omprog")
module(load="impstats" interval="1" format="json" resetCounters="off" log.syslog="on" ruleset="statistics")
template(name="statistics" type="string" string="%msg%\\n")
ruleset(name="statistics") {
  action(name="statistics_out" type="omprog" binary="${at.script}" template="statistics")
}
ruleset(name="lines") {
  action(name="lines_out" type="omfile" file="${join(at.folder, 'lines.log')}")
  ${at.forwardTo === undefined ? '' : forwarding(at.forwardTo)}
}
input(type="imtcp" name="${at.name}" address="127.0.0.1" port="0" listenPortFileName="${at.portFile}" ruleset="lines")
`;

/** A disk-assisted queue, as production has it: 50 messages in memory, the rest in files. */
const forwarding = (port: number): string => `action(
    name="out_fwd" type="omfwd" target="127.0.0.1" port="${port}" protocol="tcp"
    queue.type="LinkedList" queue.filename="forward" queue.size="50" queue.dequeueBatchSize="10"
    queue.workerThreads="1" queue.timeoutShutdown="100" queue.timeoutEnqueue="0"
    action.resumeRetryCount="-1" action.resumeInterval="1"
  )`;

function startSending(port: number): () => void {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const timer = setInterval(() => {
    socket.write('<13>Jan  1 00:00:00 host app: a line of the test\n');
  }, LINE_EVERY_MS);
  const end = (): void => {
    clearInterval(timer);
    socket.destroy();
  };
  onTestFinished(end);
  return end;
}
