import type { Schemas } from '@headgate/client';
import { Argument, Command, Option } from 'commander';
import { readBody } from '../input.ts';
import { EXIT, type Finish, print } from '../output/output.ts';
import { asJson } from '../output/table.ts';
import { runOnServer, type ServerFlags, withServerOptions } from '../session.ts';

type TestOutcome = Schemas['TargetTest'];

/** A receiver may take a minute to answer an alarm and as long for its end, and fetch waits no longer than 5 minutes. */
const PATIENCE_MS = 290_000;

interface Flags extends ServerFlags {
  readonly to?: readonly string[];
  readonly file?: string;
}

/** Fails when the test did not arrive. */
export const testSendCommand = (finish: Finish): Command =>
  withServerOptions(
    new Command('test-send').description('send a test to a target, and show what was sent and answered'),
  )
    .addArgument(new Argument('<target>', 'its id'))
    .addOption(new Option('--to <address...>', 'who gets the test of an smtp target'))
    .addOption(
      new Option('--file <path>', 'YAML or JSON of settings to test that are not kept, - for standard input'),
    )
    .action(async (id: string, { to, file, ...flags }: Flags) => {
      let isArrived = false;
      await runOnServer(
        code => finish(code === EXIT.ok && !isArrived ? EXIT.failed : code),
        flags,
        async ({ client }) => {
          const target = file === undefined ? undefined : await readBody<Record<string, unknown>>(file);
          const body = { ...(to && { testEmails: [...to] }), ...(target && { target }) };
          const result = await client.targets.test({ id, body });
          isArrived = result.success;
          if (flags.json) print(asJson(result));
          else printTest(result);
        },
        PATIENCE_MS,
      );
    });

function printTest({ target, verdict, reason, request, response, outputs }: TestOutcome): void {
  print(`${target}: ${verdict}${reason === undefined ? '' : `, ${reason}`}`);
  if (outputs !== undefined) {
    for (const one of outputs) printTest(one);
    return;
  }
  if ('event' in request) print(`> ${JSON.stringify(request.event)}`);
  else {
    print(`> ${request.method} ${request.url}`);
    for (const [name, value] of Object.entries(request.headers)) print(`> ${name}: ${value}`);
    for (const line of request.body.trimEnd().split('\n')) print(`> ${line}`);
  }
  if (response === null) return;
  if (response.status !== undefined) print(`< ${response.status}`);
  for (const [name, value] of Object.entries(response.headers ?? {})) print(`< ${name}: ${value}`);
  for (const line of response.body.trimEnd().split('\n')) print(`< ${line}`);
}
