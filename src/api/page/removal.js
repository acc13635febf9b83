import { call } from './api.js';
import { byId, say } from './drawing.js';
import { nameOf, subjectOf } from './tables.js';
import { count } from './words.js';

/** Removing an input or output that is gone: it is asked for first, in a dialog that says what follows. */

const RESOURCES = ['inputs', 'outputs'];
const CHANGEABLE = [...RESOURCES, 'incidents'];

/** Resources that the caller may change, by what `GET /auth/me` says. Throws `ApiError`. */
export async function changeableBy(session) {
  const token = await session.tokens.current();
  const { items } = await call('/api/v1/auth/me', { token, signal: session.ends.signal });
  const { permissions } = items[0];
  return CHANGEABLE.filter(name => permissions.includes(`update:${name}`));
}

/** Ids of the notifications that mean this component and no other. */
const namedIn = ({ notifications }) =>
  notifications.filter(({ conf }) => [conf?.name].flat().every(isOneName)).map(({ id }) => id);

const isOneName = name => typeof name === 'string' && !name.includes('*');

function consequencesOf(item, openIncidents) {
  const open = openIncidents.filter(({ subject }) => subject === subjectOf(item)).length;
  const named = namedIn(item);
  return [
    `Pipeline ${item.headgate.pipeline} no longer names it. It is listed again when a page or push does.`,
    open > 0 &&
      `${count(open, 'open incident')} on it ${open === 1 ? 'closes' : 'close'}, and who was notified is notified of the end.`,
    item.headgate.declared && 'Its declaration in the configuration is removed too.',
    named.length > 0 &&
      `${named.join(', ')} ${named.length === 1 ? 'names' : 'name'} it, and will alert of a name that was never seen until changed or removed.`,
  ].filter(Boolean);
}

/**
 * Listens to the buttons of both tables. `facts()` answers `{session, items, openIncidents}`, where `items` are those
 * that the table shows; `removed` is called with the name of what was removed.
 */
export function listenToRemovals({ facts, removed }) {
  const dialog = byId('removal');
  const confirm = byId('removal-confirm');
  /** What the dialog asks about: `{resource, item, session}`. */
  let asked;

  function ask(resource, id) {
    const { session, items, openIncidents } = facts(resource);
    const item = items.find(one => one.id === id);
    if (item === undefined || session === undefined) return;
    asked = { resource, item, session };
    say(byId('removal-title'), `Remove ${nameOf(item)}?`);
    say(byId('removal-text'), consequencesOf(item, openIncidents).join(' '));
    say(byId('removal-error'), '');
    confirm.disabled = false;
    dialog.showModal();
  }

  async function remove({ resource, item, session }) {
    confirm.disabled = true;
    try {
      const token = await session.tokens.current();
      const path = `/api/v1/system/${resource}/${encodeURIComponent(item.id)}`;
      await call(path, { token, method: 'DELETE', signal: session.ends.signal });
      dialog.close();
      byId(resource).querySelector('h2').focus({ preventScroll: true });
      removed(nameOf(item));
    } catch ({ message }) {
      say(byId('removal-error'), message);
      confirm.disabled = false;
    }
  }

  for (const resource of RESOURCES)
    byId(resource).addEventListener('click', ({ target }) => {
      const button = target.closest('button[data-action="remove"]');
      if (button !== null) ask(resource, button.closest('tr').dataset.id);
    });
  confirm.addEventListener('click', () => void remove(asked));
  byId('removal-cancel').addEventListener('click', () => dialog.close());
}
