import { defineSilence } from './silence.ts';

export const noDataDest = defineSilence({
  id: 'no-data-dest',
  name: 'No Data Sent',
  kind: 'output',
  metric: 'total.out_bytes',
  does: 'is sending',
});
