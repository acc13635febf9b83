import { expect, test } from 'vitest';
import { incidentItem } from '../acceptance/client.ts';
import { ADMIN_PASSWORD, installation, logIn, serve, until } from '../acceptance/harness.ts';
import { alarm, POSTING, post } from '../acceptance/posting.ts';
import { scriptedSink, single, status } from '../acceptance/scripted-sink.ts';
import { signIn, useBrowser } from './browser.ts';

const browser = useBrowser();

const alwaysMuted = [{ weekdays: ['mon-sun'], timezone: 'Europe/Berlin' }];
const monitor = (id: string, more: object): object => ({ id, condition: 'monitor-alerts', ...more });

test('an incident says who was notified, who was not and why, and that nobody was', async () => {
  const [takes, refuses] = [await scriptedSink(), await scriptedSink()];
  refuses.reply(status(404));
  const server = await serve(
    installation({
      settings: { pipelines: [POSTING] },
      notifications: {
        targets: [
          single('takes', takes.url),
          single('refuses', refuses.url),
          { id: 'bell', type: 'bulletin_message' },
        ],
        notifications: [
          monitor('both', { targets: ['takes', 'refuses', 'bell'] }),
          monitor('lost', { targets: ['refuses', 'bell'] }),
          monitor('recorded', { targets: ['bell'] }),
          monitor('silent', { targets: ['takes'], muteWindows: alwaysMuted }),
        ],
      },
    }),
  );
  await post(server, [alarm('disk')]);
  const api = await logIn(server.url);
  const incidentOf = async (notification: string) =>
    (await api.items(`/incidents?notification=${notification}`, incidentItem.loose()))[0];
  await until(async () => (await incidentOf('lost'))?.notified === 'nobody', 'the refusal');
  await until(async () => (await incidentOf('both'))?.notified === 'somebody', 'the alarm');
  expect(await incidentOf('silent')).toMatchObject({
    notified: 'waiting',
    heldBecause: 'muted by muteWindows[0]',
  });

  const { page, complaints } = await browser.open({ viewport: { width: 1400, height: 1000 } });
  await page.goto(server.url);
  await signIn(page, ADMIN_PASSWORD);
  const row = (notification: string) =>
    page.locator('#incidents tbody').getByRole('row').filter({ hasText: notification });
  await row('both')
    .getByText(/^takes, /)
    .waitFor();
  await row('both')
    .getByText(/^refuses: .*404/)
    .waitFor();
  await row('lost').getByText('Nobody', { exact: true }).waitFor();
  expect(await row('lost').locator('.tone.bad', { hasText: 'Nobody' }).count()).toBe(1);
  await row('recorded').getByText('no target of it alerts people').waitFor();
  await row('silent').getByText('Muted by muteWindows[0]').waitFor();
  const held = page.locator('#deliveries tbody').getByRole('row').filter({ hasText: 'silent' });
  await held.getByText('muted by muteWindows[0]').waitFor();
  await held.getByText('Held', { exact: true }).waitFor();
  if (process.env.SHOT !== undefined) await page.screenshot({ path: process.env.SHOT, fullPage: true });
  expect(complaints).toEqual([]);
});
