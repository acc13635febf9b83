import { byId, say } from './drawing.js';
import { signIn } from './session.js';
import { count } from './words.js';

const SECTIONS = ['login', 'change', 'board'];

/** Shows one of the sections and hides the others. */
export function showSection(name) {
  for (const section of SECTIONS) byId(section).hidden = section !== name;
  byId('sign-out').hidden = name === 'login';
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/** What came of a sign-in with the provider, by the word in the address that it leads back to. */
const SSO_REFUSALS = {
  off: 'There is no single sign-on here.',
  unreachable: 'The identity provider does not answer. Try again later.',
  denied: 'The identity provider did not let you in.',
  invalid: 'The identity provider did not answer as it should. The log of the server says why.',
  expired: 'That sign-in is over, or was begun in another browser. Please start again.',
  limited: 'Too many sign-ins from your address came to nothing. Try again shortly.',
  unverified:
    'The identity provider does not vouch for your e-mail address. Have it verified there. Whoever is no member yet asks an owner or admin of the organization for membership.',
  'no-member':
    'You are known to the identity provider, but are no member of an organization here. Ask an owner or admin of your organization for membership, with the e-mail address that the provider has of you.',
  'other-account':
    'Another account of the identity provider signs in as the member with your e-mail address. Sign in with that one, or ask an owner or admin of your organization to remove the member and add it again.',
  'groups-unreadable':
    'The identity provider sent your groups in a form that cannot be read here. Ask an administrator: the log says what came.',
  'not-allowed': 'You are known to the identity provider, but may not come in here. Ask an administrator.',
};

/** The refusal in the address, which is then taken out of it: a reload is another matter. */
export function refusalOfAddress() {
  const here = new URL(location.href);
  const reason = here.searchParams.get('sso');
  if (reason === null) return '';
  here.searchParams.delete('sso');
  history.replaceState(null, '', here.href);
  return Object.hasOwn(SSO_REFUSALS, reason) ? SSO_REFUSALS[reason] : '';
}

/** Asks who it is, in the ways that the server offers; `note` says why again, `refusal` what went wrong. */
export function askToSignIn({ sso = null, localLogin = true }, note = '', refusal = '') {
  showSection('login');
  say(byId('login-note'), note);
  say(byId('login-error'), refusal);
  byId('sso').hidden = sso === null;
  if (sso !== null) {
    const returnTo = encodeURIComponent(location.pathname + location.search + location.hash);
    say(byId('sso-link'), `Sign in with ${sso.name}`);
    byId('sso-link').href = `/session/sso?returnTo=${returnTo}`;
  }
  byId('login-form').hidden = !localLogin;
  (localLogin ? byId('username') : byId('sso-link')).focus();
}

/** Asks for another password before anything else. The one that was just typed need not be typed again. */
export function askForPassword(session, typed = '') {
  showSection('change');
  say(byId('change-error'), '');
  const { username, currentPassword, newPassword } = byId('change-form').elements;
  username.value = session.user.username;
  currentPassword.value = typed;
  newPassword.value = '';
  (typed === '' ? currentPassword : newPassword).focus();
}

/**
 * Calls `signedIn` with each session that begins, and with the password when that must be changed, which
 * `changePassword` does. `organization` is the one whose accounts sign in.
 */
export function listenToForms({ signedIn, sessionNow, changePassword, organization }) {
  byId('login-form').addEventListener('submit', event => {
    event.preventDefault();
    const { username, password } = byId('login-form').elements;
    void submit('login', password, async () => {
      const typed = password.value;
      const session = await signIn(username.value, typed, organization);
      password.value = '';
      signedIn(session, typed);
    });
  });
  byId('change-form').addEventListener('submit', event => {
    event.preventDefault();
    const { username, currentPassword, newPassword } = byId('change-form').elements;
    void submit('change', newPassword, async () => {
      const chosen = newPassword.value;
      await changePassword(sessionNow(), currentPassword.value, chosen);
      // The change has ended every session of the user, this one among them.
      const session = await signIn(username.value, chosen, organization);
      byId('change-form').reset();
      signedIn(session, chosen);
    });
  });
}

async function submit(form, field, work) {
  const button = byId(`${form}-button`);
  button.disabled = true;
  say(byId(`${form}-error`), '');
  try {
    await work();
  } catch (error) {
    await explainRefusal(byId(`${form}-error`), error, field);
  }
  button.disabled = false;
  if (!byId(form).hidden) field.focus();
}

async function explainRefusal(line, { message, waitSeconds = 0 }, field) {
  field.select();
  for (let left = waitSeconds; left > 0; left--) {
    say(line, `${message} (${count(left, 'second')})`);
    await pause(1000);
  }
  say(line, waitSeconds > 0 ? 'You can try again now.' : message);
}
