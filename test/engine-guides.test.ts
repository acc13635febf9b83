import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkConfiguration } from '../src/config/check-files.ts';
import { SETTINGS_FILE } from '../src/config/configuration.ts';
import { systemClock } from '../src/lib/clock.ts';
import { JSON_ENGINES, TEXT_ENGINES } from '../src/pipelines/engines/index.ts';
import { configFolder } from './helpers/config-folder.ts';
import { codeBlocks, readText, sectionOf } from './helpers/markdown.ts';

/** The guide of an engine: a page of its own, or its section of the page for all of them. */
function guideOf(engine: string): string {
  const own = `docs/guide/${engine}.md`;
  return existsSync(own) ? readText(own) : sectionOf(readText('docs/guide/engines.md'), engine);
}

test.each([...TEXT_ENGINES, ...JSON_ENGINES, 'rsyslog'])('a guide shows a valid pipeline of %s', engine => {
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
