import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../src/api/v1/index.ts';
import { type ApiServer, startApiServer } from '../api/api-server.ts';
import { faintTexts, useBrowser } from './browser.ts';

const browser = useBrowser();
let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({});
});
afterAll(() => server.stop());

const ofNoGroup = operations.filter(({ id }) => !id.endsWith('InGroup'));

async function open(hash = '', options = {}) {
  const tab = await browser.open(options);
  await tab.page.goto(`${server.url}/reference${hash}`);
  await tab.page.locator('details.operation').first().waitFor();
  return tab;
}

test('shows every operation once, those of groups beside their twin, and nothing breaks', async () => {
  const { page, complaints } = await open();
  expect(await page.locator('details.operation').count()).toBe(ofNoGroup.length);
  expect(await page.getByText(`${ofNoGroup.length} operations`).isVisible()).toBe(true);
  for (const details of await page.locator('details.operation').all())
    await details.locator('summary').first().click();
  // What opens is drawn a moment after the click.
  const bodies = page.locator('.operation .body');
  await bodies.nth(ofNoGroup.length - 1).waitFor({ state: 'attached' });
  expect(await bodies.count()).toBe(ofNoGroup.length);
  expect(
    await page.getByText('For one group: /api/v1/m/{group}/system/inputs', { exact: true }).count(),
  ).toBe(2);
  expect(complaints).toEqual([]);
});

test('finds operations by any of their words', async () => {
  const { page } = await open();
  const filter = page.getByLabel('Find an operation');
  await filter.fill('patch update:targets');
  expect(await page.locator('details.operation').evaluateAll(all => all.map(one => one.id))).toEqual([
    'targets.update',
  ]);
  await filter.fill('nothing like it');
  expect(await page.getByRole('status').textContent()).toBe('Nothing is called “nothing like it”');
});

test('opens what a link names, with its schema, a line for curl and what it answered', async () => {
  const { page } = await open('#targets.create');
  const operation = page.locator('[id="targets.create"]');
  expect(await operation.getAttribute('open')).not.toBeNull();
  expect(await page.evaluate('document.activeElement.closest("details").id')).toBe('targets.create');
  const text = await operation.textContent();
  expect(text).toContain('Needs a token with the permission update:targets.');
  expect(text).toContain(
    `curl -X POST '${server.url}/api/v1/notification-targets' -H "Authorization: $TOKEN"`,
  );
  expect(text).toContain('"token": "********"');
  expect(text).toContain('configuration-read-only The folder of the configuration cannot be written.');
  await operation
    .locator('.keys summary', { hasText: /^webhook/ })
    .first()
    .click();
  await operation.getByText('Where the events go.').waitFor({ state: 'visible' });
});

test.each(['light', 'dark'] as const)('can be read in %s, on a narrow screen as well', async colorScheme => {
  const { page } = await open('#inputs.list', { colorScheme, viewport: { width: 360, height: 800 } });
  expect(await faintTexts(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
});

test.each(['#%', '#nothing.like', '#count', '#operations', '#inputs.listInGroup'])(
  'takes the link %s without breaking',
  async hash => {
    const { page, complaints } = await open(hash);
    expect(await page.locator('details[open]').count()).toBe(hash.includes('InGroup') ? 1 : 0);
    expect(complaints).toEqual([]);
  },
);

test('is reached from the page, and says so when the document cannot be had', async () => {
  const { page } = await browser.open();
  await page.goto(server.url);
  await page.getByRole('link', { name: 'API' }).click();
  await page.getByRole('heading', { name: 'API' }).waitFor();
  for (const status of [0, 500]) {
    await page.route('**/openapi.json', route =>
      status === 0 ? route.abort() : route.fulfill({ status, json: { status: 'error' } }),
    );
    await page.reload();
    await page.getByRole('alert').getByText('Headgate does not answer').waitFor();
    await page.unroute('**/openapi.json');
  }
});

test('the document is served as it was committed', async () => {
  const answer = await server.call('GET', '/openapi.json', { headers: [] });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ openapi: '3.1.0', info: { title: 'Headgate' } });
});
