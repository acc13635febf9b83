import * as z from 'zod';
import { matcherSchema } from '../../notifications/matchers.ts';
import { matchersOf } from '../../notifications/silences/silence.ts';
import {
  createSilence,
  type DescribedSilence,
  expireSilence,
  getSilence,
  listSilences,
  type SilenceDetails,
  updateSilence,
} from '../../resources/silences.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, readBack, route } from '../route.ts';

const silence = z.object({
  id: z.string(),
  matchers: z.array(matcherSchema),
  startsAt: z.iso.datetime(),
  endsAt: z.iso.datetime().describe('When it is, or was, over at the latest.'),
  until: z
    .literal('resolved')
    .optional()
    .describe('It ends with the last incident that it held back, if that is earlier.'),
  comment: z.string(),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  state: z.enum(['pending', 'active', 'expired']),
});
const silenceShape: Shape = { name: 'Silence', schema: silence };

const silenceDetails = silence.extend({
  incidents: z
    .array(z.object({ id: z.string(), notification: z.string(), subject: z.string() }))
    .describe('The newest 100 incidents of which it held back alarms.'),
  incidentCount: z.int().describe('How many they are altogether.'),
});
const silenceDetailsShape: Shape = { name: 'SilenceDetails', schema: silenceDetails };

const wireSilence = ({ row, now }: DescribedSilence): z.output<typeof silence> => ({
  id: row.id,
  matchers: [...matchersOf(row)],
  startsAt: isoTime(row.starts_at),
  endsAt: isoTime(row.ends_at),
  ...(row.until_resolved === 1 && { until: 'resolved' as const }),
  comment: row.comment,
  createdBy: row.created_by,
  createdAt: isoTime(row.created_at),
  state: row.ends_at <= now ? 'expired' : row.starts_at > now ? 'pending' : 'active',
});

const wireDetails = (details: SilenceDetails): z.output<typeof silenceDetails> => ({
  ...wireSilence(details),
  incidents: details.incidents.map(({ id, notification, subject }) => ({ id, notification, subject })),
  incidentCount: details.incidentCount,
});

const path = '/silences';
/** The leading process makes and changes them, so that a silence holds from the answer on. */
const oneSilence = { path: `${path}/:id`, answer: item(silenceDetailsShape, wireDetails) };
const example = { params: { id: 'edge_upgrade' } };

export const silenceRoutes: readonly Route[] = [
  route({
    id: 'silences.create',
    method: 'POST',
    path,
    summary: 'Silence the alarms that matchers fit',
    description:
      'Alarms that fit are sent to nobody until it is over; then those of incidents that are still open are sent at once. The end of an incident goes to whoever got its alarm, silence or not.',
    verb: createSilence,
    takes: { shape: { name: 'NewSilence' } },
    answer: item(silenceShape, wireSilence),
    errors: ['conflict'],
    example: {
      body: {
        id: 'edge_upgrade',
        matchers: [{ name: 'input', op: '=~', value: 'syslog:.*' }],
        until: 'resolved',
        comment: 'The collectors at the edge are upgraded.',
      },
    },
  }),
  route({
    id: 'silences.list',
    isLive: false,
    method: 'GET',
    path,
    summary: 'List silences, newest first',
    verb: listSilences,
    answer: list(silenceShape, wireSilence),
    example: { query: { state: 'active' } },
  }),
  route({
    ...oneSilence,
    isLive: false,
    id: 'silences.get',
    method: 'GET',
    summary: 'Get a silence with the incidents that it held back',
    verb: getSilence,
    example,
  }),
  route({
    ...oneSilence,
    id: 'silences.update',
    method: 'PATCH',
    summary: 'Extend or shorten a silence that is not over, or change its comment',
    verb: updateSilence,
    takes: { shape: { name: 'SilenceChange' } },
    takesBack: readBack(getSilence, silenceDetailsShape, wireDetails, [
      'state',
      'incidents',
      'incidentCount',
    ]),
    errors: ['conflict'],
    example: { ...example, body: { comment: 'The upgrade takes longer.' } },
  }),
  route({
    ...oneSilence,
    id: 'silences.expire',
    method: 'DELETE',
    summary: 'End a silence now; it stays in the list',
    verb: expireSilence,
    example,
  }),
];
