import { call } from './api.js';
import { byId, say } from './drawing.js';

/** Acknowledging an open incident, and taking that back. */

const METHODS = { acknowledge: 'POST', unacknowledge: 'DELETE' };

/** Listens to the buttons of the table. `sessionNow()` answers the session; `changed` is called once it is done. */
export function listenToAcknowledgements({ sessionNow, changed }) {
  async function change(button) {
    const session = sessionNow();
    if (session === undefined) return;
    button.disabled = true;
    try {
      const token = await session.tokens.current();
      const { id } = button.closest('tr').dataset;
      await call(`/api/v1/incidents/${encodeURIComponent(id)}/acknowledge`, {
        token,
        method: METHODS[button.dataset.action],
        signal: session.ends.signal,
      });
      changed();
    } catch ({ message }) {
      say(byId('trouble'), `The incident stays as it is: ${message}`);
      button.disabled = false;
    }
  }

  byId('incidents').addEventListener('click', ({ target }) => {
    const button = target.closest('button[data-action]');
    if (button !== null && METHODS[button.dataset.action] !== undefined) void change(button);
  });
}
