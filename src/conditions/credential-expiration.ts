import { defineExpiration } from './expiration.ts';

export const credentialExpiration = defineExpiration({
  kind: 'credential',
  name: 'Credential Expiration',
  within: '7d',
});
