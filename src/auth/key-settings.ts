import * as z from 'zod';
import { duration } from '../lib/schemas.ts';
import { ALGORITHMS } from './keys.ts';

/** How tokens are signed. */
export const keySettings = {
  signingAlgorithm: z
    .enum(ALGORITHMS)
    .default('RS256')
    .describe('What new keys sign tokens with; the present one signs on until it is turned.'),
  keyLifetime: duration({ min: '1d', max: '400d' })
    .prefault('90d')
    .describe('How long a key signs before the next one takes its place.'),
};
