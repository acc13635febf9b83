import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { ask } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';

let app: HostedApp;
beforeAll(async () => {
  app = await startHostedApp({ clock: systemClock });
});
afterAll(() => app.stop());

describe('the management plane', () => {
  it('answers 202 to the removal of a workspace', async () => {
    const made = await app.plane('acme', '/workspaces', { method: 'POST', body: { workspaceId: 'spare' } });
    expect(made.status).toBe(201);
    const removed = await app.plane('acme', '/workspaces/spare', { method: 'DELETE' });
    expect([removed.status, removed.body]).toEqual([202, '']);
    expect((await app.plane('acme', '/workspaces/spare')).status).toBe(404);
  });

  it('says to programs at its root that it is well, and shows people the page', async () => {
    const program = await ask(`${app.authUrl}/`, { headers: { accept: 'application/json' } });
    expect([program.status, program.body, program.headers.vary]).toEqual([200, { status: 'OK' }, 'accept']);
    for (const accept of ['text/html,application/xhtml+xml,application/json;q=0.9', '*/*']) {
      const person = await ask(`${app.authUrl}/`, { headers: { accept } });
      expect([person.status, person.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    }
  });
});
