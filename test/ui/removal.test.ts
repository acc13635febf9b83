import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_PASSWORD, type Served, startServer } from '../acceptance/bin.ts';
import { login } from '../acceptance/client.ts';
import { noData, writeConfiguration, writeFileText } from '../acceptance/files.ts';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { faintTexts, signIn, useBrowser } from './browser.ts';

const browser = useBrowser();
const folder = mkdtempSync(join(tmpdir(), 'headgate-removal-'));
let server: Served;
let end: () => Promise<void>;
/** What the pipeline's page names. */
let named: readonly string[] = ['app', 'web', 'late'];

beforeAll(async () => {
  let served = 0;
  const page = createServer((_request, response) => {
    served++;
    const lines = named.map(
      id =>
        `vector_component_received_events_total{component_id="${id}",component_kind="source",component_type="syslog"} ${served}\n`,
    );
    response.end(`vector_uptime_seconds ${served}\n${lines.join('')}`);
  });
  const listening = await listenLocally(page);
  end = listening.end;
  const config = join(folder, 'config');
  writeConfiguration(config, {
    settings: {
      pipelines: [{ id: 'edge', engine: 'vector', url: `${listening.url}/metrics`, interval: '1s' }],
    },
    notifications: {
      targets: [{ id: 'bell', type: 'bulletin_message' }],
      notifications: [
        noData('silent', 'syslog:*', '3s', 'bell'),
        noData('named', 'syslog:app', '3s', 'bell'),
      ],
    },
  });
  writeFileText(config, 'inputs.yml', 'inputs: { late: { type: syslog, description: Declared by hand. } }\n');
  server = await startServer({ config, data: join(folder, 'data') });
});
afterAll(async () => {
  await server?.kill();
  await end?.();
  rmSync(folder, { recursive: true, force: true });
});

const row = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).locator('tbody').getByRole('row').filter({ hasText: text });
const removeButton = (page: Page, name: string) => page.getByRole('button', { name: `Remove ${name}` });

async function openAs(password: string, options = {}, user = 'admin') {
  const tab = await browser.open(options);
  await tab.page.goto(server.url);
  await signIn(tab.page, password, user);
  await row(tab.page, 'Inputs', 'syslog:web').waitFor();
  return tab;
}

test('what is gone can be removed after a question, which closes its incidents', async () => {
  const { page, complaints } = await openAs(ADMIN_PASSWORD);
  await row(page, 'Inputs', 'syslog:app').getByText('Healthy').waitFor();
  expect(await removeButton(page, 'syslog:app').count()).toBe(0);

  named = ['web', 'late'];
  await row(page, 'Inputs', 'syslog:app').getByText('Gone', { exact: true }).waitFor();
  await row(page, 'Incidents', 'named').getByText('Open').waitFor();
  await row(page, 'Incidents', 'silent').getByText('Open').waitFor();
  expect(await removeButton(page, 'syslog:web').count()).toBe(0);

  await removeButton(page, 'syslog:app').click();
  const dialog = page.getByRole('dialog', { name: 'Remove syslog:app?' });
  await dialog.getByText('Pipeline edge no longer names it.').waitFor();
  await dialog.getByText('2 open incidents on it close').waitFor();
  await dialog.getByText('named names it, and will alert').waitFor();
  expect(await faintTexts(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'hidden' });
  expect(await row(page, 'Inputs', 'syslog:app').count()).toBe(1);

  await removeButton(page, 'syslog:app').click();
  await dialog.getByRole('button', { name: 'Remove it' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await row(page, 'Inputs', 'syslog:app').waitFor({ state: 'detached' });
  await row(page, 'Incidents', 'silent').getByText('the input was removed').first().waitFor();
  await row(page, 'Incidents', 'silent').getByText('Resolved').first().waitFor();
  expect(complaints).toEqual([]);
});

test('a declaration goes with what is gone, and the question says so', async () => {
  named = ['web', 'late'];
  const { page } = await openAs(ADMIN_PASSWORD);
  await row(page, 'Inputs', 'syslog:late').getByText('Healthy').waitFor();
  named = ['web'];
  await removeButton(page, 'syslog:late').click();
  await page.getByRole('dialog').getByText('Its declaration in the configuration is removed too.').waitFor();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await row(page, 'Inputs', 'syslog:late').waitFor({ state: 'detached' });
});

test('a refusal is shown in the words of the API, and the question stays', async () => {
  named = ['web', 'back'];
  const { page } = await openAs(ADMIN_PASSWORD);
  await row(page, 'Inputs', 'syslog:back').getByText('Healthy').waitFor();
  named = ['web'];
  await removeButton(page, 'syslog:back').click();
  await page.route('**/api/v1/system/inputs/back', route =>
    route.fulfill({
      status: 409,
      json: { message: "input 'back' is there as long as pipeline 'edge' has it" },
    }),
  );
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByRole('dialog').getByText("input 'back' is there as long as").waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(await row(page, 'Inputs', 'syslog:back').count()).toBe(1);
});

test('nobody without the permission is offered to remove anything', async () => {
  named = ['web', 'kept'];
  const { token } = await login(server.url);
  const password = 'orange tractors hum quietly';
  const user = { username: 'reader', password, roles: ['reader'], forcePasswordChange: false };
  const made = await fetch(`${server.url}/api/v1/system/users`, {
    method: 'POST',
    headers: { authorization: token, 'content-type': 'application/json' },
    body: JSON.stringify(user),
  });
  expect(made.status).toBe(200);
  const { page, complaints } = await openAs(password, {}, 'reader');
  await row(page, 'Inputs', 'syslog:kept').getByText('Healthy').waitFor();
  named = ['web'];
  await row(page, 'Inputs', 'syslog:kept').getByText('Gone', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: /^Remove/ }).count()).toBe(0);
  const { page: other } = await openAs(ADMIN_PASSWORD);
  await removeButton(other, 'syslog:kept').waitFor();
  expect(complaints).toEqual([]);
});

test.each([360, 1280])('the question fits a screen of %i pixels', async width => {
  named = ['web', `wide_${width}`];
  const { page } = await openAs(ADMIN_PASSWORD, { viewport: { width, height: 800 }, colorScheme: 'dark' });
  await row(page, 'Inputs', `wide_${width}`).getByText('Healthy').waitFor();
  named = ['web'];
  await removeButton(page, `syslog:wide_${width}`).click();
  await page.getByRole('dialog').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  expect(await faintTexts(page)).toEqual([]);
});
