import { AUDIENCE } from './tenants.ts';

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** What a token request says, as `fetch` without options of its own sends it. */
export const tokenRequest = (
  { clientId, clientSecret }: Client,
  more: Readonly<Record<string, string>> = {},
) => ({
  grant_type: 'client_credentials',
  client_id: clientId,
  client_secret: clientSecret,
  audience: AUDIENCE,
  ...more,
});

export const basic = ({ clientId, clientSecret }: Client): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

export const JSON_TYPE = 'application/json';
export const FORM_TYPE = 'application/x-www-form-urlencoded';

interface Sent {
  readonly type?: string;
  readonly authorization?: string;
  readonly path?: string;
}

/** Posts a body to the login service; an object goes as JSON. */
export function poster(url: string) {
  return async (body: string | Uint8Array<ArrayBuffer> | object, sent: Sent = {}) => {
    const isObject = typeof body === 'object' && !(body instanceof Uint8Array);
    const response = await fetch(`${url}${sent.path ?? '/oauth/token'}`, {
      method: 'POST',
      headers: {
        'content-type': sent.type ?? JSON_TYPE,
        ...(sent.authorization !== undefined && { authorization: sent.authorization }),
      },
      body: isObject ? JSON.stringify(body) : body,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  };
}

export const errorOf = ({ status, text }: { readonly status: number; readonly text: string }) => {
  const body: { readonly error?: unknown } = JSON.parse(text);
  return [status, body.error];
};
