import { defineExpiration } from './expiration.ts';

export const certificateExpiration = defineExpiration({
  kind: 'certificate',
  name: 'Certificate Expiration',
  within: '14d',
});
