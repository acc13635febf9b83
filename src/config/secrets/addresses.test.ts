import { describe, expect, it } from 'vitest';
import { NOTIFICATIONS_FILE, OUTPUTS_FILE, SETTINGS_FILE } from '../configuration.ts';
import { hideAddressesInTexts } from './addresses.ts';

const hidden = (name: typeof NOTIFICATIONS_FILE | typeof OUTPUTS_FILE | typeof SETTINGS_FILE, text: string) =>
  hideAddressesInTexts({ texts: [{ [name]: text }], files: [name] })[0]?.[name];

describe('addresses of targets in a text', () => {
  it.each([
    ['in a map by id', 'targets:\n  a:\n    type: webhook\n    url: https://h.example/key\n'],
    ['in quotes', "targets: [{ id: a, type: webhook, url: 'https://h.example/key' }]\n"],
    [
      'written with escapes',
      'targets: [{ id: a, type: webhook, url: "\\x68ttps:\\/\\/h.example/\\x6bey" }]\n',
    ],
    ['over two lines', 'targets: [{ id: a, type: webhook, url: "https://h.example/\\\n  key" }]\n'],
    ['in a block', 'targets:\n  - id: a\n    type: webhook\n    url: >-\n      https://h.example/key\n'],
    ['behind an alias', 'x-a: &a https://h.example/key\ntargets: [{ id: a, type: webhook, url: *a }]\n'],
    ['in an item with an anchor', 'targets: [&a { id: a, type: webhook, url: https://h.example/key }]\n'],
    ['in comments', 'targets: [] # as https://h.example/key\n# https://h.example/key\n'],
    ['in a text that cannot be read', 'targets: [{ url: https://h.example/key\n'],
  ])('are shown by their hosts: %s', (_, text) => {
    const shown = hidden(NOTIFICATIONS_FILE, text) ?? '';
    expect(shown).toContain('https://h.example/********');
    expect(shown).not.toMatch(/key|x6bey/);
  });

  it.each([
    'targets: [{ id: a, type: pager_duty, url: https://events.pagerduty.com/v2/enqueue }]\n',
    'targets: [{ id: a, type: webhook, url: https://h.example }]\n',
    'notifications: [{ id: a, runbookUrl: https://wiki.example/page }]\n',
    "targets: [{ id: a, type: webhook, url: '${secret:a}' }]\n",
  ])('are shown whole where there is nothing to hide: %s', text => {
    expect(hidden(NOTIFICATIONS_FILE, text)).toBe(text);
  });

  it('leave the rest of the text as it is', () => {
    const text =
      '\ufefftargets:\r\n  - id:   a\r\n    type: webhook\r\n    url: https://h.example/key   # ours\r\n';
    expect(hidden(NOTIFICATIONS_FILE, text)).toBe(
      text.slice(1).replace('https://h.example/key', '"https://h.example/********"'),
    );
  });
});

it('hides any address of a declared input or output', () => {
  const text = 'outputs: [{ id: a, type: http, sink: { to: [https://h.example/key] } }]\n';
  expect(hidden(OUTPUTS_FILE, text)).toBe(
    text.replace('https://h.example/key', '"https://h.example/********"'),
  );
});

it('hides addresses of settings that have a query', () => {
  const text =
    "pipelines: [{ id: a, engine: vector, url: 'https://h.example/m?key=1' }, { url: https://i.example/m }]\n";
  expect(hidden(SETTINGS_FILE, text)).toBe(
    text.replace("'https://h.example/m?key=1'", '"https://h.example/********"'),
  );
});

it('leaves files that the caller may change', () => {
  const texts = [
    { [NOTIFICATIONS_FILE]: 'targets: [{ id: a, type: webhook, url: https://h.example/key }]\n' },
  ];
  expect(hideAddressesInTexts({ texts, files: [SETTINGS_FILE] })).toEqual(texts);
});
