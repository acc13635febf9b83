import type { PullSettings } from '../settings.ts';
import { customProfile } from './custom.ts';
import { fluentBit } from './fluent-bit.ts';
import { otelcol } from './otelcol.ts';
import type { Profile } from './profile.ts';
import { prometheus } from './prometheus.ts';
import { vector } from './vector.ts';

const PROFILES = { vector, otelcol, 'fluent-bit': fluentBit, prometheus } as const;

/** How to read the pages of a pipeline. */
export const profileOf = (settings: PullSettings): Profile =>
  settings.engine === 'custom' ? customProfile(settings.rules) : PROFILES[settings.engine];
