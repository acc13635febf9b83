import { defineSilence } from './silence.ts';

export const noData = defineSilence({
  id: 'no-data',
  name: 'No Data Received',
  kind: 'input',
  metric: 'total.in_bytes',
  does: 'is receiving',
});
