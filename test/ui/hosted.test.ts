import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { hostedInstallation } from '../helpers/hosted.ts';
import { CLIENT, startIdentityProvider } from '../helpers/identity-provider.ts';
import { faintTexts, useBrowser } from './browser.ts';

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

async function signInAtProvider(page: Page, login: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with Corp' }).click();
  await page.getByPlaceholder('Enter any login').fill(login);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
}

test('a member comes to the page of a workspace by the provider, and whoever is none is told what to do', async () => {
  const { cli, port, authUrl, serve } = await hostedInstallation(undefined, {
    auth: async base => {
      const { issuer, users, close } = await startIdentityProvider({ base });
      onTestFinished(close);
      users.set('ann', { email: 'ann@acme.example', email_verified: true });
      users.set('eve', { email: 'eve@acme.example', email_verified: true });
      return { type: 'openid', openid: { name: 'Corp', issuer, ...CLIENT } };
    },
  });
  await cli('org', 'create', 'acme', '--owner', 'ann@acme.example', '--workspace', 'main');
  await serve();
  const workspace = `http://main-acme.localhost:${port}/`;
  const { page } = await browser.open();
  await page.goto(workspace);
  await page.getByRole('link', { name: 'Sign in with your organization' }).click();
  expect(await faintTexts(page)).toEqual([]);
  await signInAtProvider(page, 'ann');
  await page.waitForURL(`${workspace}**`);
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();

  await page.goto(`${authUrl}/sign-in`);
  await page.getByText('You are signed in as ann@acme.example.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: /sign me out/i }).click();
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
  expect(page.url()).toBe(`${authUrl}/`);

  const other = await browser.open();
  await other.page.goto(workspace);
  await other.page.getByRole('link', { name: 'Sign in with your organization' }).click();
  await signInAtProvider(other.page, 'eve');
  await other.page.getByText('Ask an owner or admin of your organization for membership').waitFor();
  expect(await faintTexts(other.page)).toEqual([]);
  // Another try, by whatever way, leads on to the workspace.
  expect(new URL(other.page.url()).searchParams.get('workspace')).toBe('main-acme');
  expect(new URL(other.page.url()).searchParams.has('sso')).toBe(false);
});
