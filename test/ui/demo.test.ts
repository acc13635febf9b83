import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../acceptance/bin.ts';
import { until } from '../helpers/until.ts';
import { signIn, useBrowser } from './browser.ts';

const BIN = join(import.meta.dirname, '../../dist/main.js');

const browser = useBrowser();

/** What the demo prints to people, taken apart. */
function printed(text: string) {
  const part = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? '';
  return {
    url: part(/^headgate ready on (http:\/\/127\.0\.0\.1:\d+)$/m),
    password: part(/password (\S+)$/m),
    viewer: part(/Webhook viewer +(\S+)$/m),
    config: part(/Configuration +(\S+)/),
  };
}

test('the demo shows an input that stops, tells of it everywhere, and leaves nothing behind', async () => {
  const environment = { ...process.env, NO_COLOR: '1', HEADGATE_API_PORT: '1', HEADGATE_CONFIG: '/nowhere' };
  const demo = run(process.execPath, [BIN, 'demo'], environment);
  onTestFinished(() => demo.kill());
  await until(() => demo.stdout().includes('Ctrl-C'), 'the introduction');
  const { url, password, viewer, config } = printed(demo.stdout());

  const { page, complaints } = await browser.open();
  await page.goto(url);
  await signIn(page, password);
  const inputs = page.getByRole('table', { name: 'Inputs' });
  for (const name of ['syslog:app', 'http_server:checkout', 'http_server:payments', 'kafka:orders'])
    await inputs.getByRole('row', { name }).getByText('Healthy').waitFor();

  const received = await browser.open();
  await received.page.goto(viewer);
  const alarm = received.page.getByText('Source syslog:app had no data for 5s', { exact: true });
  await alarm.waitFor();
  expect(demo.stdout()).toMatch(/^\d\d:\d\d:\d\d {2}ALARM {2}Source syslog:app had no data for 5s$/m);
  await page.getByRole('table', { name: 'Messages' }).getByText('Source syslog:app had no data').waitFor();

  await alarm.click();
  const link = await received.page.getByRole('link', { name: 'Show the incident' }).getAttribute('href');
  await page.goto(link ?? '');
  await page.locator('tr.chosen', { hasText: 'syslog:app' }).waitFor();
  expect([...complaints, ...received.complaints]).toEqual([]);
  expect(demo.stderr()).toBe('');

  const from = performance.now();
  demo.signal('SIGINT');
  expect(await demo.ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - from).toBeLessThan(9000);
  expect(existsSync(join(config, '..'))).toBe(false);
});
