import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { type ApiServer, startApiServer } from '../api/api-server.ts';
import { connectProvider } from '../helpers/connect-provider.ts';
import { CLIENT, type IdentityProvider, startIdentityProvider } from '../helpers/identity-provider.ts';
import { faintTexts, signIn, useBrowser } from './browser.ts';

const browser = useBrowser();
let server: ApiServer;
let provider: IdentityProvider;

beforeAll(async () => {
  server = await startApiServer({});
  provider = await startIdentityProvider({ base: server.url });
  provider.users.set('ann', { groups: ['readers'] });
});
afterAll(async () => {
  await server?.stop();
  await provider?.close();
});

const ssoLink = (page: Page) => page.getByRole('link', { name: 'Sign in with Corp' });

async function signInAtProvider(page: Page): Promise<void> {
  await ssoLink(page).click();
  await page.getByPlaceholder('Enter any login').fill('ann');
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
}

test('somebody signs in with the provider, stays so over a reload, and signs out there as well', async () => {
  await connectProvider(server, provider);
  const { page } = await browser.open();
  await page.goto(`${server.url}/#/incidents/none`);
  await ssoLink(page).waitFor();
  expect(await faintTexts(page)).toEqual([]);
  await signInAtProvider(page);
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();
  expect(page.url()).toBe(`${server.url}/#/incidents/none`);
  await page.reload();
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: /sign me out/i }).click();
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
  expect(page.url()).toBe(`${server.url}/`);
  await ssoLink(page).click();
  await page.getByPlaceholder('Enter any login').waitFor();
});

test('a provider that does not answer is told, and a password goes on', async () => {
  await connectProvider(server, { issuer: 'http://127.0.0.1:9' });
  const { page } = await browser.open();
  await page.goto(server.url);
  await ssoLink(page).click();
  await page.getByText('The identity provider does not answer. Try again later.').waitFor();
  expect(page.url()).toBe(`${server.url}/`);
  expect(await faintTexts(page)).toEqual([]);
  await signIn(page, ADMIN_PASSWORD);
  await page.getByRole('heading', { name: 'Incidents' }).waitFor();
});

test('a word in the address that is no refusal says nothing', async () => {
  const { page } = await browser.open();
  await page.goto(`${server.url}/?sso=constructor`);
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

test('passwords that were to be off are told of, until an admin comes and only the provider is left', async () => {
  const openid = { issuer: provider.issuer, ...CLIENT, scope: 'openid profile email groups' };
  const groups = { mapping: { admins: ['admin'], readers: ['reader'] } };
  writeFileSync(
    join(server.config, 'headgate.yml'),
    JSON.stringify({
      instance: { externalUrl: server.url },
      auth: { type: 'openid', fallback: false, openid: { ...openid, name: 'Corp', groups } },
    }),
  );
  await expect.poll(() => server.log()).toContain('local login stays on');
  const { page } = await browser.open();
  await page.goto(server.url);
  await signIn(page, ADMIN_PASSWORD);
  await page.getByText('The configuration switches passwords off').waitFor();
  expect(await faintTexts(page)).toEqual([]);

  provider.users.set('ann', { groups: ['admins'] });
  const other = await browser.open();
  await other.page.goto(server.url);
  await signInAtProvider(other.page);
  await other.page.getByRole('heading', { name: 'Incidents' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await ssoLink(page).waitFor();
  expect(await page.getByLabel('User name').isVisible()).toBe(false);
  expect(await page.evaluate('document.activeElement.id')).toBe('sso-link');
  await page.goto(`${server.url}/?sso=denied`);
  await page.getByText('The identity provider did not let you in.').waitFor();
  expect(await faintTexts(page)).toEqual([]);
});
