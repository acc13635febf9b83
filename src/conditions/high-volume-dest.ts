import { defineVolume } from './volume.ts';

export const highVolumeDest = defineVolume({
  id: 'high-volume-dest',
  name: 'High Data Volume Sent',
  kind: 'output',
  when: 'greater',
});
