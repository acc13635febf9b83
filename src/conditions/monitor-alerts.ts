import * as z from 'zod';
import { formatDuration } from '../lib/duration.ts';
import { definePosted } from './posted.ts';

/** What a monitor elsewhere found; the key is the monitor's id, with whatever tells its alerts apart. */
export const monitorAlerts = definePosted({
  id: 'monitor-alerts',
  name: 'Monitor Alerts',
  type: 'monitor-alerts',
  category: 'alerts',
  description:
    'A monitor elsewhere posted that it fires; the fields `monitor_name` and `value` go into the text.',
  adds: [],
  schema: z.strictObject({}),
  topic: () => undefined,
  describe({ key, fields, openMs }) {
    const { monitor_name, value } = fields;
    const name = typeof monitor_name === 'string' && monitor_name !== '' ? `${monitor_name} (${key})` : key;
    if (openMs !== undefined)
      return { fields, text: `Monitor ${name} is cleared after ${formatDuration(openMs)}` };
    const isTold = typeof value === 'string' || typeof value === 'number';
    return { fields, text: `Monitor ${name} is firing${isTold ? `: ${value}` : ''}` };
  },
});
