/** A browser as far as redirects, forms and cookies go. Its cookies are those of one host, whatever the port. */
export interface HandBrowser {
  readonly cookies: Map<string, string>;
  /** One request, whose redirect is not followed. */
  ask(url: string, options?: RequestInit): Promise<Response>;
  /** Follows redirects up to the first address that `isEnd` is true of, which it does not ask. */
  follow(
    url: string,
    isEnd: (url: string) => boolean,
    fields?: Readonly<Record<string, string>>,
  ): Promise<string>;
}

const MOST_STEPS = 12;

export function handBrowser(): HandBrowser {
  const cookies = new Map<string, string>();

  async function ask(url: string, options: RequestInit = {}): Promise<Response> {
    const jar = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = new Headers(options.headers);
    if (jar !== '') headers.set('cookie', jar);
    const answer = await fetch(url, { ...options, headers, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) keep(line);
    return answer;
  }

  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map(part => part.trim());
    const at = pair.indexOf('=');
    const isOver = attributes.some(one => /^max-age=0$/i.test(one) || /^expires=thu, 01 jan 1970/i.test(one));
    if (isOver) cookies.delete(pair.slice(0, at));
    else cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }

  /** Fills in the page's only form. */
  async function submit(url: string, answer: Response, fields: Readonly<Record<string, string>>) {
    const page = await answer.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    if (action === undefined) throw new Error(`${url} answered ${answer.status} without a form: ${page}`);
    const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const body = new URLSearchParams(fields);
    for (const [, name = '', value = ''] of hidden) body.append(name, value);
    return ask(new URL(action, url).href, { method: 'POST', body });
  }

  return {
    cookies,
    ask,
    async follow(start, isEnd, fields = {}) {
      let url = start;
      let answer = isEnd(url) ? undefined : await ask(url);
      for (let step = 0; answer !== undefined && step < MOST_STEPS; step++) {
        const location = answer.headers.get('location');
        if (location === null) {
          answer = await submit(url, answer, fields);
          continue;
        }
        url = new URL(location, url).href;
        answer = isEnd(url) ? undefined : await ask(url);
      }
      if (answer !== undefined) throw new Error(`${start} leads nowhere; it is still at ${url}`);
      return url;
    },
  };
}
