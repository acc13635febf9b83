import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Served, startServer } from '../acceptance/bin.ts';
import { login } from '../acceptance/client.ts';
import { writeConfiguration } from '../acceptance/files.ts';
import { faintTexts, signIn, useBrowser } from './browser.ts';

const CHOSEN = 'violet giraffes mend clocks';

const browser = useBrowser();
const folder = mkdtempSync(join(tmpdir(), 'headgate-first-'));
const data = join(folder, 'data');
let server: Served;
let generated: string;

beforeAll(async () => {
  const config = join(folder, 'config');
  writeConfiguration(config, {});
  server = await startServer({ config, data, environment: {} });
  generated = readFileSync(join(data, 'initial-admin-password'), 'utf8').trim();
});
afterAll(async () => {
  await server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

test('whoever signs in with the generated password chooses another one first', async () => {
  const { page, complaints } = await browser.open();
  await page.goto(server.url);
  await signIn(page, generated);
  await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
  expect(await page.getByRole('heading', { name: 'Incidents' }).isVisible()).toBe(false);
  expect(await page.evaluate('document.activeElement.id')).toBe('new-password');
  expect(await page.getByLabel('Current password').inputValue()).toBe(generated);
  expect(await faintTexts(page)).toEqual([]);

  await page.reload();
  await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
  expect(await page.getByLabel('Current password').inputValue()).toBe('');
  expect(complaints).toEqual([]);
});

test('a password that will not do is refused in the words of the API, and a good one leads on', async () => {
  const { page } = await browser.open();
  await page.goto(server.url);
  await signIn(page, generated);
  await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
  await page.keyboard.type('short');
  await page.keyboard.press('Enter');
  await page.getByText('password must be at least 15 characters').waitFor();
  expect(await page.evaluate('document.activeElement.id')).toBe('new-password');
  await page.getByLabel('New password').fill(CHOSEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();
});

test('a change that an admin asks for meanwhile is asked for at once', async () => {
  const { page } = await browser.open();
  await page.goto(server.url);
  await signIn(page, CHOSEN);
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();
  const { token } = await login(server.url, CHOSEN);
  const answer = await fetch(`${server.url}/api/v1/system/users/admin`, {
    method: 'PATCH',
    headers: { authorization: token, 'content-type': 'application/json' },
    body: JSON.stringify({ forcePasswordChange: true }),
  });
  expect(answer.status).toBe(200);
  await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
  expect(await page.getByLabel('Current password').inputValue()).toBe('');
});
