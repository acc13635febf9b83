import type { SecretFacts } from '../../config/secret-writer.ts';
import { isoTime } from '../envelope.ts';

export const wireSecret = (facts: SecretFacts): object => ({
  name: facts.name,
  createdAt: isoTime(facts.createdAt),
  updatedAt: isoTime(facts.updatedAt),
  updatedBy: facts.updatedBy,
});
