import { call } from './api.js';
import { byId, say } from './drawing.js';
import { look, signOut } from './session.js';
import { askForPassword, askToSignIn, listenToForms, refusalOfAddress, showSection } from './sign-in.js';

/** Where the browser came from, if it is to go on to the page of a workspace. */
const asked = new URLSearchParams(location.search);
const workspace = asked.get('workspace');
const state = asked.get('state');
/** A person may have an account in several organizations: the one of the workspace is meant. */
const organization = workspace === null ? undefined : workspace.slice(workspace.indexOf('-') + 1);

let session;

/** Sets the own password in the session that is open, and begins another. Throws `ApiError`. */
const changePassword = ({ csrfToken }, currentPassword, password) =>
  call('/session/password', { method: 'POST', csrfToken, body: { currentPassword, password } });

async function goOn() {
  showSection('board');
  say(byId('board-error'), '');
  if (workspace === null || state === null) {
    say(byId('board-note'), `You are signed in as ${session.user.username}. Open the page of a workspace.`);
    return;
  }
  say(byId('board-note'), `Going on to ${workspace} …`);
  try {
    const { csrfToken } = session;
    const body = { workspace, state };
    const answer = await call('/session/hand-over', { method: 'POST', csrfToken, body });
    location.replace(answer.location);
  } catch ({ status, message }) {
    say(byId('board-note'), '');
    const remedy = status === 404 ? ' Sign out to sign in with another account.' : '';
    say(byId('board-error'), `${message}${remedy}`);
  }
}

function signedIn(now, typed) {
  session = now;
  if (session.forcePasswordChange) askForPassword(session, typed);
  else void goOn();
}

listenToForms({ signedIn, sessionNow: () => session, changePassword, organization });

byId('sign-out').addEventListener('click', async () => {
  try {
    const { logoutUrl } = await signOut(session);
    if (logoutUrl) location.assign(logoutUrl);
    else location.reload();
  } catch ({ status, message }) {
    if (status === 401) location.reload();
    else say(byId('board-error'), `You are still signed in. ${message}`);
  }
});

const now = await look();
if (now.signedIn) signedIn(now);
else askToSignIn(now, '', refusalOfAddress());
