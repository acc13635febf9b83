import { expect, test, vi } from 'vitest';
import { hostedInstallation } from '../helpers/hosted.ts';
import { faintTexts, useBrowser } from './browser.ts';

vi.setConfig({ testTimeout: 180_000 });

const CHOSEN = 'violet giraffes mend clocks';

const browser = useBrowser();

test('a member comes to the page of a workspace by way of the login service, and is led back signed in', async () => {
  const { cli, port, serve } = await hostedInstallation();
  const made = await cli('org', 'create', 'acme', '--owner', 'ann@acme.example', '--workspace', 'main');
  const password = /One-time password: (\S+)/.exec(made)?.[1] ?? '';
  await serve();
  const { page, complaints } = await browser.open();
  await page.goto(`http://main-acme.localhost:${port}/`);
  await page.getByRole('link', { name: 'Sign in with your organization' }).click();
  await page.getByLabel('E-mail address').fill('ann@acme.example');
  await page.getByLabel('Password', { exact: true }).fill(password);
  expect(await faintTexts(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
  await page.getByLabel('New password').fill(CHOSEN);
  await page.keyboard.press('Enter');
  await page.waitForURL(`http://main-acme.localhost:${port}/**`);
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();
  expect(complaints).toEqual([]);

  const other = await browser.open();
  await other.page.goto(`http://main-acme.localhost:${port}/`);
  await other.page.getByRole('link', { name: 'Sign in with your organization' }).click();
  await other.page.getByLabel('E-mail address').fill('ann@acme.example');
  await other.page.getByLabel('Password', { exact: true }).fill('something else');
  await other.page.keyboard.press('Enter');
  await other.page.getByText('wrong').waitFor();
});
