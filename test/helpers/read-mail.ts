/** A mail as its reader sees it. */
export interface ReadMail {
  /** Decoded, by lower-case name; of several of one name all. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly text: string;
  readonly html: string;
}

/** Takes a mail apart by RFC 5322, 2045 and 2047. Throws for one that breaks their limits. */
export function readMail(raw: string): ReadMail {
  const { headers, body } = takeApart(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type')?.[0] ?? '')?.[1];
  if (boundary === undefined) throw new Error('the mail has one part only');
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map(part => takeApart(part.replace(/^\r\n/, '')));
  const ofType = (type: string): string => {
    const part = parts.find(one => one.headers.get('content-type')?.[0]?.startsWith(type));
    if (part === undefined) throw new Error(`the mail has no ${type}`);
    return decoded(part.body, part.headers.get('content-transfer-encoding')?.[0] ?? '7bit');
  };
  return { headers, text: ofType('text/plain'), html: ofType('text/html') };
}

function takeApart(raw: string): { headers: Map<string, string[]>; body: string } {
  const end = raw.indexOf('\r\n\r\n');
  if (end < 0) throw new Error('no empty line ends the headers');
  for (const line of raw.split('\r\n'))
    if (line.length > 998 || /[\r\n\0]/.test(line))
      throw new Error(`a line of ${line.length} or with a control`);
  const headers = new Map<string, string[]>();
  for (const line of raw
    .slice(0, end)
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')) {
    const [, name, value] = /^([!-9;-~]+): ?(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no header: ${line}`);
    if (/[^\x20-\x7e\t]/.test(value)) throw new Error(`a header that is not ASCII: ${line}`);
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), words(value)]);
  }
  return { headers, body: raw.slice(end + 4) };
}

/** Encoded words, those next to each other as one text. */
const words = (value: string): string =>
  value.replace(/\?=\s+=\?/g, '?==?').replace(/(=\?UTF-8\?([QB])\?[^?]*\?=)+/gi, run => {
    const bytes = [...run.matchAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi)].map(([, kind, text = '']) =>
      kind?.toUpperCase() === 'B' ? Buffer.from(text, 'base64') : quoted(text.replace(/_/g, ' ')),
    );
    return utf8(Buffer.concat(bytes));
  });

const quoted = (text: string): Buffer =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );

/** Throws for what is no UTF-8. */
const utf8 = (bytes: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

function decoded(body: string, encoding: string): string {
  const end = body.replace(/\r\n$/, '');
  if (encoding === 'base64') return utf8(Buffer.from(end, 'base64'));
  if (encoding === 'quoted-printable') return utf8(quoted(end.replace(/=\r\n/g, ''))).replace(/\r\n/g, '\n');
  return utf8(Buffer.from(end, 'latin1')).replace(/\r\n/g, '\n');
}
