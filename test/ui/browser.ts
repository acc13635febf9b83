import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** How long something may take to show: far more than it takes on a busy machine. */
const LOOK_MS = 300_000;

/** A page in a fresh context, and what its console and its scripts complained of. */
export interface Tab {
  readonly page: Page;
  readonly complaints: readonly string[];
}

/** Debian's Chromium, or the one CHROMIUM names, for the tests of one file. */
export function useBrowser(): { open(options?: BrowserContextOptions): Promise<Tab> } {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ARGUMENTS,
    });
  });
  afterAll(() => browser?.close());
  return {
    async open(options = {}) {
      if (browser === undefined) throw new Error('the browser was not started');
      const context = await browser.newContext(options);
      onTestFinished(() => context.close());
      context.setDefaultTimeout(LOOK_MS);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', message => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('pageerror', error => complaints.push(error.message));
      return { page, complaints };
    },
  };
}

export async function signIn(page: Page, password: string, user = 'admin'): Promise<void> {
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
}

/** Texts whose contrast is under 4.5 to 1, which WCAG 2.2 asks of small text (1.4.3). */
export const faintTexts = (page: Page): Promise<string[]> => page.evaluate(FAINT_TEXTS);

/** Runs in the page. Only opaque colours are expected; anything else is listed as well. */
const FAINT_TEXTS = `(() => {
  const channels = colour => /^rgb\\((\\d+), (\\d+), (\\d+)\\)$/.exec(colour)?.slice(1).map(Number);
  const linear = value => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const groundOf = node => {
    for (let at = node; at; at = at.parentElement) {
      const ground = getComputedStyle(at).backgroundColor;
      if (ground !== 'rgba(0, 0, 0, 0)') return ground;
    }
  };
  const shown = [...document.body.querySelectorAll('*')].filter(node =>
    node.checkVisibility() && [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim() !== ''));
  return shown.flatMap(node => {
    const [ink, ground] = [channels(getComputedStyle(node).color), channels(groundOf(node))];
    if (!ink || !ground) return [node.textContent + ': unknown colours'];
    const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    return ratio < 4.5 ? [node.textContent.trim() + ': ' + ratio.toFixed(2)] : [];
  });
})()`;
