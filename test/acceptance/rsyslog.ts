import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { run } from './bin.ts';
import { temporaryFolder, until, writeFileText } from './harness.ts';

const RSYSLOGD = '/usr/sbin/rsyslogd';
const LINE_EVERY_MS = 100;

/** A private rsyslogd whose statistics go to Headgate through omprog and curl. */
export interface Rsyslog {
  readonly port: number;
  /** Sends a line every 100 ms to its TCP input until the returned call. */
  startSending(): () => void;
  stderr(): string;
}

interface Options {
  /** Of the imtcp input. */
  readonly name: string;
  /** Where the statistics are posted. */
  readonly url: string;
  readonly token: string;
}

export async function rsyslog({ name, url, token }: Options): Promise<Rsyslog> {
  const folder = temporaryFolder();
  const header = writeFileText(folder, 'header', `Authorization: Bearer ${token}\n`);
  const script = writeFileText(folder, 'push.sh', pushScript(url, header));
  chmodSync(script, 0o755);
  const portFile = join(folder, 'port');
  const configuration = writeFileText(
    folder,
    'rsyslog.conf',
    rsyslogConfiguration({ folder, name, script, portFile }),
  );
  const daemon = run(RSYSLOGD, ['-n', '-f', configuration, '-i', join(folder, 'pid')], {
    PATH: process.env.PATH,
  });
  onTestFinished(async () => {
    daemon.signal('SIGTERM');
    const late = setTimeout(() => daemon.signal('SIGKILL'), 5000);
    await daemon.ended;
    clearTimeout(late);
  });
  await until(() => existsSync(portFile) && readFileSync(portFile, 'utf8') !== '', 'the port of rsyslog');
  const port = Number(readFileSync(portFile, 'utf8'));
  return { port, startSending: () => startSending(port), stderr: daemon.stderr };
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
}
input(type="imtcp" name="${at.name}" address="127.0.0.1" port="0" listenPortFileName="${at.portFile}" ruleset="lines")
`;

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
