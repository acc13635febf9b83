/** A request that an answer names as remedy. */
interface NamedRequest {
  readonly method: string;
  /** Without an origin. */
  readonly path: string;
  /** Undefined for one of the server that has answered. */
  readonly origin: string | undefined;
}

/** The request behind the colon of a `password-change-required`; throws where none is named. */
export function namedIn(message: string): NamedRequest {
  const [, method, url] = /: (GET|POST|PUT|PATCH|DELETE) (\S+)/.exec(message) ?? [];
  if (method === undefined || url === undefined) throw new Error(`no request is named: ${message}`);
  if (!URL.canParse(url)) return { method, path: url, origin: undefined };
  const { origin, pathname: path } = new URL(url);
  return { method, path, origin };
}

/** True for the row of a table of routes that serves a request; paths of rows may begin anywhere in it. */
export const isRouteOf =
  ({ method, path }: NamedRequest) =>
  (row: { readonly method: string; readonly path: string }): boolean =>
    row.method === method && new RegExp(`^(/api/v1)?${row.path.replace(/:\w+/g, '[^/]+')}$`).test(path);
