import type { HeadgateEvent } from '../events/event.ts';
import type { ConditionTraits } from './condition.ts';

/** An alarm such as the condition may raise, to try expressions on; undefined for one that receives external events. */
export function sampleEvent({ id, sample }: ConditionTraits): HeadgateEvent | undefined {
  if (sample === undefined) return undefined;
  return {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    status: 'ALARM',
    condition: id,
    cribl_notification: 'sample',
    _time: 1_706_747_300,
    starttime: 1_706_747_240,
    endtime: 1_706_747_300,
    ...sample.fields,
    severity: 'warn',
    incidentId: '01890a5d-ac96-774b-bcce-b302099a8058',
    incidentUrl: 'https://headgate.example/#/incidents/01890a5d-ac96-774b-bcce-b302099a8058',
    silenceUrl: 'https://headgate.example/silences/new?matcher=cribl_notification%3Dsample',
    description: 'A sample.',
    runbookUrl: 'https://wiki.example/sample',
    _raw: `A sample of ${id}: ${sample.subject}`,
    cribl_host: 'headgate',
  };
}
