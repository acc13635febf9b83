import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_PASSWORD, type Served, startServer } from '../acceptance/bin.ts';
import { writeConfiguration } from '../acceptance/files.ts';
import { faintTexts, signIn, useBrowser } from './browser.ts';
import { type Feed, startFeed, TOKEN } from './feed.ts';

const MARKUP = '<img src=x onerror="window.broken=1">';
const NOTHING_THERE = 'http://127.0.0.1:9/hook';

const settings = { pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN }] };
const notifications = {
  targets: [
    { id: 'hook', type: 'webhook', url: NOTHING_THERE },
    { id: 'bell', type: 'bulletin_message' },
  ],
  notifications: [
    {
      id: 'app_silent',
      condition: 'no-data',
      severity: 'error',
      targets: ['hook', 'bell'],
      conf: { name: 'http:app', timeWindow: '1s' },
    },
  ],
};

const browser = useBrowser();
const folder = mkdtempSync(join(tmpdir(), 'headgate-ui-'));
const config = join(folder, 'config');
let server: Served;
let feed: Feed;

beforeAll(async () => {
  writeConfiguration(config, { settings, notifications });
  server = await startServer({ config, data: join(folder, 'data') });
  feed = startFeed(server.url);
  feed.run('app', MARKUP);
});
afterAll(async () => {
  await feed?.end();
  await server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

const row = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).locator('tbody').getByRole('row').filter({ hasText: text });

async function open(path = '/', options = {}) {
  const tab = await browser.open(options);
  await tab.page.goto(`${server.url}${path}`);
  return tab;
}

async function openSignedIn(path = '/', options = {}) {
  const tab = await open(path, options);
  await signIn(tab.page, ADMIN_PASSWORD);
  await row(tab.page, 'Inputs', 'http:app').waitFor();
  return tab;
}

/** Lets the input fall silent and waits for its incident; answers the id. */
async function silence(page: Page): Promise<string> {
  feed.stop('app');
  await row(page, 'Incidents', 'Open').waitFor();
  const href = await row(page, 'Incidents', 'Open').getByRole('link').getAttribute('href');
  return href?.replace('#/incidents/', '') ?? '';
}

async function revive(page: Page): Promise<void> {
  feed.run('app');
  await row(page, 'Incidents', 'Open').waitFor({ state: 'detached' });
}

test('a wrong password is refused in the words of the API, and nothing is shown', async () => {
  const { page, complaints } = await open();
  await signIn(page, 'not the password');
  await page.getByText('The user name or the password is wrong').waitFor();
  expect(await page.getByRole('table').count()).toBe(0);
  expect(complaints).toEqual([expect.stringContaining('401')]);
});

test('too many failures are told with their wait, counted down', async () => {
  const { page } = await open();
  await page.clock.install();
  await page.route('**/session/login', route =>
    route.fulfill({
      status: 429,
      headers: { 'retry-after': '2' },
      json: { status: 'error', message: 'Too many failed logins; try again shortly' },
    }),
  );
  await signIn(page, ADMIN_PASSWORD);
  await page.getByText('try again shortly (2 seconds)').waitFor();
  expect(await page.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(true);
  await page.clock.runFor(1000);
  await page.getByText('try again shortly (1 second)').waitFor();
  await page.clock.runFor(1000);
  await page.getByText('You can try again now.').waitFor();
  expect(await page.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(false);
});

test('inputs show their health in words, their last data and their rates', async () => {
  const { page, complaints } = await openSignedIn();
  const input = row(page, 'Inputs', 'http:app');
  await input.getByText('Healthy').waitFor();
  await input.getByText('just now').waitFor();
  await input.getByText(/^[1-9]\d*$/).waitFor();
  await input.getByText(/ kB$/).waitFor();
  await page.getByText('No output was seen yet.').waitFor();
  await row(page, 'Engines', 'own').getByText('reachable').waitFor();
  expect(complaints).toEqual([]);
});

test('an id that looks like markup is shown as it is and runs nothing', async () => {
  const { page, complaints } = await openSignedIn();
  await row(page, 'Inputs', `http:${MARKUP}`).waitFor();
  expect(await page.evaluate('document.images.length')).toBe(0);
  expect(await page.evaluate('window.broken')).toBeUndefined();
  expect(complaints).toEqual([]);
});

test('an incident appears at its input, with its deliveries and messages, and resolves', async () => {
  const { page, complaints } = await openSignedIn();
  await silence(page);
  await row(page, 'Incidents', 'Open').getByText('Source http:app had no data for 1s').waitFor();
  await expect.poll(() => page.title()).toBe('(1) Headgate');
  await row(page, 'Deliveries', 'hook').getByText('Waiting').first().waitFor();
  await row(page, 'Deliveries', 'hook')
    .getByText(/refused/)
    .first()
    .waitFor();
  await row(page, 'Deliveries', 'bell').getByText('Sent').first().waitFor();
  await row(page, 'Messages', 'had no data for 1s').waitFor();

  await row(page, 'Inputs', 'http:app').getByRole('link', { name: 'Alarm: no-data' }).click();
  await page.locator('tr.chosen', { hasText: 'Open' }).waitFor();

  await revive(page);
  await page.locator('tr.chosen', { hasText: 'Resolved' }).waitFor();
  await row(page, 'Inputs', 'http:app').getByText('Alarm').waitFor({ state: 'detached' });
  await expect.poll(() => page.title()).toBe('Headgate');
  expect(complaints).toEqual([]);
});

test('an address of an incident leads to it after signing in, and one of none says so', async () => {
  const first = await openSignedIn();
  const id = await silence(first.page);
  await revive(first.page);
  const { page } = await openSignedIn(`/#/incidents/${id}`);
  const chosen = page.locator('tr.chosen');
  await chosen.getByText('Resolved').waitFor();
  expect(await page.evaluate('document.activeElement.className')).toBe('chosen');
  await page.goto(`${server.url}/#/incidents/none`);
  await page.getByText("The incident of this address cannot be shown: incident 'none' not found").waitFor();
  expect(await chosen.count()).toBe(0);
});

test('a reload stays signed in by a cookie that no script sees, and signing out ends that', async () => {
  const { page, complaints } = await openSignedIn();
  expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
  expect(await page.evaluate('document.cookie')).toBe('');
  expect(await page.context().cookies()).toMatchObject([
    { name: 'sid', httpOnly: true, sameSite: 'Strict', expires: -1 },
  ]);
  await page.reload();
  await row(page, 'Inputs', 'http:app').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.content()).not.toContain('http:app');
  expect(await page.context().cookies()).toEqual([]);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(complaints).toEqual([]);
});

test('a sign-out that the server did not hear of is not believed', async () => {
  const { page } = await openSignedIn();
  await page.route('**/session', route => route.abort());
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are still signed in. Headgate does not answer.').waitFor();
});

test('tokens are renewed before they end, with a word on whether somebody is there', async () => {
  const { page } = await open();
  await page.clock.install();
  const said: unknown[] = [];
  page.on('request', request => {
    if (request.url().endsWith('/session/token')) said.push(request.postDataJSON().active);
  });
  await signIn(page, ADMIN_PASSWORD);
  await row(page, 'Inputs', 'http:app').waitFor();
  expect(said).toEqual([true]);
  await page.clock.fastForward(250_000);
  await expect.poll(() => said).toEqual([true, false]);
  await page.keyboard.press('Tab');
  await page.clock.fastForward(250_000);
  await expect.poll(() => said).toEqual([true, false, true]);
});

test('a session that is over leads back to signing in, with a note', async () => {
  const { page } = await openSignedIn();
  await page.route('**/session/token', route =>
    route.fulfill({ status: 401, json: { status: 'error', message: 'Nobody is signed in here' } }),
  );
  await page.clock.install();
  await page.clock.fastForward(250_000);
  await page.getByText('The session has ended. Please sign in again.').waitFor();
});

test('a token that is no longer accepted leads back to signing in, with a note', async () => {
  const { page } = await openSignedIn();
  await page.route('**/api/v1/system/**', route =>
    route.fulfill({ status: 401, json: { status: 'error', message: 'The token has expired' } }),
  );
  await page.getByText('The session has ended. Please sign in again.').waitFor();
  expect(await page.getByLabel('User name').isVisible()).toBe(true);
});

test('a server that does not answer is told, with what was last shown, until it answers again', async () => {
  const { page } = await openSignedIn();
  await page.route('**/api/v1/**', route => route.abort());
  const alert = page.getByText('What is shown may be out of date.');
  await alert.waitFor();
  expect(await row(page, 'Inputs', 'http:app').isVisible()).toBe(true);
  await page.unroute('**/api/v1/**');
  await alert.waitFor({ state: 'hidden' });
});

test('a list that fails says why while the others go on', async () => {
  const { page } = await openSignedIn();
  await page.route('**/api/v1/deliveries*', route =>
    route.fulfill({ status: 500, json: { message: 'Something went wrong on our side' } }),
  );
  await page.locator('#deliveries').getByText('Something went wrong on our side').waitFor();
  expect(await row(page, 'Inputs', 'http:app').isVisible()).toBe(true);
});

test('a broken configuration is told with file and line until it is mended', async () => {
  const { page } = await openSignedIn();
  const broken = [{ id: 'app_silent', condition: 'no-dta', conf: { name: 'http:app' } }];
  writeConfiguration(config, { notifications: { ...notifications, notifications: broken } });
  await page.getByText(/notifications\.yml:\d+:\d+: .*no-dta/).waitFor();
  writeConfiguration(config, { notifications });
  await page.getByText(/notifications\.yml:\d+:\d+: .*no-dta/).waitFor({ state: 'hidden' });
});

test('it asks again only when the last round was answered, and not while it is hidden', async () => {
  const { page } = await open();
  await page.clock.install();
  let asked = 0;
  page.on('request', request => {
    if (request.url().includes('/system/outputs')) asked++;
  });
  let answer = (): void => {};
  await page.route('**/api/v1/system/inputs*', async route => {
    await new Promise<void>(resolve => {
      answer = resolve;
    });
    await route.continue();
  });
  await signIn(page, ADMIN_PASSWORD);
  await expect.poll(() => asked).toBe(1);
  await page.clock.runFor(7000);
  expect(asked).toBe(1);

  const hide = (hidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
       document.dispatchEvent(new Event('visibilitychange'))`,
    );
  await hide(true);
  answer();
  await row(page, 'Inputs', 'http:app').waitFor();
  await page.clock.runFor(7000);
  expect(asked).toBe(1);
  await hide(false);
  await expect.poll(() => asked).toBe(2);
  answer();
});

test('it can be used by keyboard alone', async () => {
  const { page } = await open();
  const focused = () => page.evaluate('document.activeElement.id');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await focused()).toBe('username');
  await page.keyboard.type('admin');
  await page.keyboard.press('Tab');
  await page.keyboard.type(ADMIN_PASSWORD);
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('login-button');
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  await page.keyboard.press('Enter');
  await row(page, 'Inputs', 'http:app').waitFor();
  expect(await focused()).toBe('overview');
});

test.each(['light', 'dark'] as const)('every text can be read in the %s scheme', async colorScheme => {
  const { page } = await open('/', { colorScheme });
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await faintTexts(page)).toEqual([]);
  await signIn(page, 'not the password');
  await page.getByText('The user name or the password is wrong').waitFor();
  expect(await faintTexts(page)).toEqual([]);
  await signIn(page, ADMIN_PASSWORD);
  await silence(page);
  expect(await faintTexts(page)).toEqual([]);
  await revive(page);
});

test.each([360, 768, 1280, 2200])('nothing is wider than a screen of %i pixels', async width => {
  const { page } = await openSignedIn('/', { viewport: { width, height: 800 } });
  await row(page, 'Inputs', MARKUP).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
});
