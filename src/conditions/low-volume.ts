import { defineVolume } from './volume.ts';

export const lowVolume = defineVolume({
  id: 'low-volume',
  name: 'Low Data Volume',
  kind: 'input',
  when: 'less',
});
