/** The viewer's page. Received data is set as text, as it may hold anything. */

export const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Webhook viewer</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/viewer.css">
<script type="module" src="/viewer.js"></script>
</head>
<body>
<header>
<h1>Webhook viewer</h1>
<p id="state" role="status">Connecting …</p>
</header>
<main>
<p id="empty">Nothing was received yet. The first alarm of the demo comes about 20 seconds after its start.</p>
<ol id="notices"></ol>
</main>
</body>
</html>
`;

export const CSS = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f3f5f7, #10161c);
  --surface: light-dark(#ffffff, #182028);
  --ink: light-dark(#17212b, #e6ebf0);
  --soft: light-dark(#566370, #9dabb8);
  --line: light-dark(#dfe4e9, #2a343f);
  --accent: light-dark(#0d5c75, #72c3dc);
  --good: light-dark(#17744a, #5cc894);
  --bad: light-dark(#b3261e, #ff8f85);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
header, main { max-width: 58rem; margin: 0 auto; padding: 1rem; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; padding-bottom: 0; }
h1 { margin: 0; font-size: 1.35rem; letter-spacing: -0.015em; }
p { margin: 0; color: var(--soft); }
ol { margin: 0; padding: 0; list-style: none; }
li { margin-bottom: 0.5rem; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); }
summary { display: grid; grid-template-columns: 5rem 4.5rem minmax(0, 1fr); gap: 0 0.75rem; padding: 0.6rem 1rem; cursor: pointer; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
time { color: var(--soft); }
strong { letter-spacing: 0.02em; }
.ALARM strong { color: var(--bad); }
.OK strong { color: var(--good); }
.text { overflow-wrap: anywhere; }
.body { padding: 0 1rem 0.8rem; }
pre { margin: 0.25rem 0 0; padding: 0.75rem; border-radius: 6px; background: var(--ground); font: 0.87rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
a { color: var(--accent); }
@media (max-width: 36rem) {
  summary { grid-template-columns: auto 1fr; }
  .text { grid-column: 1 / -1; }
}
`;

export const SCRIPT = `const list = document.getElementById('notices');
const state = document.getElementById('state');

function element(tag, text = '', className = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function show({ receivedAt, status, text, incidentUrl, deliveryId, event }) {
  const at = new Date(receivedAt);
  const time = element('time', at.toTimeString().slice(0, 8));
  time.dateTime = at.toISOString();
  const summary = element('summary');
  summary.append(time, element('strong', status), element('span', text, 'text'));
  const body = element('div', '', 'body');
  if (incidentUrl) {
    const link = element('a', 'Show the incident');
    link.href = incidentUrl;
    body.append(link);
  }
  body.append(element('p', 'Delivery ' + deliveryId), element('pre', JSON.stringify(event, null, 2)));
  const details = element('details');
  details.append(summary, body);
  const item = element('li', '', status);
  item.append(details);
  list.prepend(item);
  document.getElementById('empty').hidden = true;
}

const source = new EventSource('/notices');
source.onopen = () => {
  list.replaceChildren();
  state.textContent = 'Live';
};
source.onmessage = ({ data }) => show(JSON.parse(data));
source.onerror = () => {
  state.textContent = 'The demo does not answer; it may have ended';
};
`;
