import { defineVolume } from './volume.ts';

export const lowVolumeDest = defineVolume({
  id: 'low-volume-dest',
  name: 'Low Data Volume Sent',
  kind: 'output',
  when: 'less',
});
