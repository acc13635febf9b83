import { Command } from 'commander';
import { AppError } from '../lib/errors.ts';
import { EXIT, type Finish } from './exit.ts';
import { complain } from './output.ts';

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
        const { runDemo } = await import('./run-demo.ts');
        finish(await runDemo());
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        complain(`headgate: ${error.message}`);
        finish(EXIT.failed);
      }
    });
