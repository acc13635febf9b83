import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import type { Demo } from '../../demo/demo.ts';
import type { Notice } from '../../demo/viewer.ts';
import { systemClock } from '../../lib/clock.ts';
import { coloursFor } from '../../lib/colours.ts';
import { AppError } from '../../lib/errors.ts';
import { terminalText } from '../../lib/text.ts';
import { EXIT, type ExitCode, type Finish, printError, printStyled } from '../output/output.ts';

const colours = coloursFor(process.stdout);

/** Runs the server and the parts of the demo until the process is stopped. Throws an `AppError`. */
async function runDemo(): Promise<ExitCode> {
  endWithTerminal();
  const { startDemo } = await import('../../demo/demo.ts');
  const demo = await startDemo({ clock: systemClock, received: notice => printStyled(lineOf(notice)) });
  return serveDemo(demo).finally(demo.stop);
}

async function serveDemo(demo: Demo): Promise<ExitCode> {
  const { runApp } = await import('../run-app.ts');
  const { outline } = await import('../../demo/script.ts');
  const password = randomBytes(10).toString('hex');
  return runApp({
    configFolder: demo.configFolder,
    dataFolder: demo.dataFolder,
    flags: { 'api.host': '127.0.0.1', 'api.port': '0' },
    // The rest of the environment is for a real installation.
    environment: {
      HEADGATE_ADMIN_PASSWORD: password,
      HEADGATE_LOG_LEVEL: process.env.HEADGATE_LOG_LEVEL ?? 'error',
    },
    ready: async app => {
      demo.begin(app.url);
      printStyled(introduction(demo, app.url, password, outline()));
    },
  });
}

/** Ends with the terminal: nobody would end a demo that is out of sight. */
function endWithTerminal(): void {
  let ending = false;
  const end = (): void => {
    if (!ending) process.kill(process.pid, 'SIGTERM');
    ending = true;
  };
  process.once('SIGHUP', end);
  process.stdout.on('error', end);
}

function introduction(demo: Demo, url: string, password: string, outline: readonly string[]): string {
  const { bold, dim } = colours;
  return [
    `headgate ready on ${url}`,
    '',
    `  Page            ${bold(url)}`,
    `  Sign in as      ${bold('admin')}, password ${bold(password)}`,
    `  Webhook viewer  ${bold(demo.viewerUrl)}`,
    `  Configuration   ${demo.configFolder} ${dim('(save a change and it is taken over at once)')}`,
    '',
    '  A simulated pipeline is being read every second. From now on, every two minutes:',
    '',
    ...outline.map(line => `    ${line}`),
    '',
    '  An alarm comes about 5 s after an input stops, the all-clear when it is back. Ctrl-C ends the demo.',
    '',
  ].join('\n');
}

const COLOURS = { ALARM: colours.red, OK: colours.green } as const;

/** Without control characters, as any program on this machine may post to the viewer. */
function lineOf({ receivedAt, status, text }: Notice): string {
  const time = new Date(receivedAt).toTimeString().slice(0, 8);
  return `${time}  ${COLOURS[status](status.padEnd(5))}  ${terminalText(text.replaceAll('\n', ' '))}`;
}

const AFTER = `
Starts Headgate with a temporary configuration and store on a free port, and beside it
  - a simulated pipeline whose inputs stop and come back, every two minutes anew
  - a webhook viewer: a page that shows the notifications as they arrive; they are printed here as well
Everything listens on this machine only. Ctrl-C ends the demo and removes its files.
`;

export const demoCommand = (finish: Finish): Command =>
  new Command('demo')
    .description('try Headgate on a simulated pipeline, with nothing to set up')
    .addHelpText('after', AFTER)
    .action(async () => {
      try {
        finish(await runDemo());
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        printError(`headgate: ${error.message}`);
        finish(EXIT.failed);
      }
    });
