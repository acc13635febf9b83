import { defineVolume } from './volume.ts';

export const highVolume = defineVolume({
  id: 'high-volume',
  name: 'High Data Volume',
  kind: 'input',
  when: 'greater',
});
