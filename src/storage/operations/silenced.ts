import { insertText, statement } from './plan.ts';

/** Records that an alarm of the incident waits for the end of the silence. */
export const recordSilenced = statement(
  `${insertText('silenced_incidents', ['silence', 'incident'])} on conflict do nothing`,
);
