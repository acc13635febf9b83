import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkConfiguration } from '../src/config/check-files.ts';
import { SETTINGS_FILE } from '../src/config/configuration.ts';
import { systemClock } from '../src/lib/clock.ts';
import { JSON_ENGINES, profileOf, TEXT_ENGINES } from '../src/pipelines/engines/index.ts';
import { configFolder } from './helpers/config-folder.ts';
import { codeBlocks, readText, sectionOf } from './helpers/markdown.ts';

/** The guide of an engine: a page of its own, or its section of the page for all of them. */
function guideOf(engine: string): string {
  const own = `docs/guide/${engine}.md`;
  return existsSync(own) ? readText(own) : sectionOf(readText('docs/guide/engines.md'), engine);
}

const ENGINES = [...TEXT_ENGINES, ...JSON_ENGINES, 'rsyslog'];

test.each(ENGINES)('a guide shows a valid pipeline of %s', engine => {
  const shown = codeBlocks(guideOf(engine)).filter(
    ({ language, text }) => language === 'yaml' && /^pipelines:/m.test(text),
  );
  expect(shown.length).toBeGreaterThan(0);
  for (const { text } of shown) {
    const environment = Object.fromEntries(
      [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => [name, 'change-me-please']),
    );
    const folder = configFolder({ [SETTINGS_FILE]: text });
    const { errors, configuration } = checkConfiguration({ folder, environment, flags: {} }, systemClock);
    expect(errors).toEqual([]);
    expect(configuration?.settings.pipelines.map(one => one.engine)).toContain(engine);
  }
});

const isOfHeadgate = (text: string): boolean => /^(?:pipelines|targets|notifications):/m.test(text);

/** Names in the guide that the engine itself writes, in its page or in its lines. */
const shownNames = (guide: string): string[] =>
  [...guide.matchAll(/`[^`\n]*?([a-z]\w*(?:[_-]\w+)*)[^`\n]*`/gi)].map(([, name = '']) => name);

test.each(ENGINES)(
  'the guide of %s shows the lines of its own configuration, or says that none is needed',
  engine => {
    const guide = guideOf(engine);
    const own = codeBlocks(guide).filter(({ text }) => !isOfHeadgate(text));
    const needsNone = /without a setting|enable \*\*/.test(guide);
    expect(own.length > 0 || needsNone).toBe(true);
  },
);

test.each(ENGINES)(
  'the guide of %s shows how to see that it is read, and says what it cannot show',
  engine => {
    const guide = guideOf(engine);
    expect(guide).toMatch(/`curl |shows? `|shows\b.*`/);
    expect(guide).toMatch(/What it cannot show/);
    const profile = profileOf({ engine });
    const isKnown = (name: string): boolean =>
      profile.rules.some(rule => rule.match.test(name)) || profile.knownBy?.test(name) === true;
    if (TEXT_ENGINES.some(one => one === engine)) expect(shownNames(guide).filter(isKnown)).not.toEqual([]);
  },
);
