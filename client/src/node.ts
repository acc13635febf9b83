import { type IncomingMessage, request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { isIP } from 'node:net';

/**
 * A `fetch` that connects to another address than the URL names, which still stands in Host and in the TLS handshake:
 * for names that nobody resolves, as `main-acme.localhost`, and for the way round a proxy. `address` is `host:port`.
 */
export function connectTo(address: string): typeof fetch {
  const { hostname, port } = addressOf(address);
  return async (input, init = {}) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
    const options = {
      host: hostname,
      port,
      method: request.method,
      path: url.pathname + url.search,
      headers: { ...Object.fromEntries(request.headers), host: url.host },
      signal: request.signal,
      // Not a name for an address (RFC 6066 section 3).
      ...(isIP(url.hostname) === 0 && { servername: url.hostname }),
    };
    return new Promise((resolve, reject) => {
      const call = (url.protocol === 'https:' ? secure : plain)(options, answer => {
        const headers = new Headers();
        for (const [name, values = []] of Object.entries(answer.headersDistinct))
          for (const value of values) headers.append(name, value);
        const status = answer.statusCode ?? 0;
        resolve(new Response(hasBody(status) ? bodyOf(answer) : null, { status, headers }));
      });
      call.on('error', reject);
      call.end(body);
    });
  };
}

/** RFC 9110 sections 15.3.5 and 15.4.5. */
const hasBody = (status: number): boolean => status !== 204 && status !== 304;

function bodyOf(answer: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  const parts: AsyncIterator<Uint8Array<ArrayBuffer>> = answer[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const part = await parts.next();
      if (part.done) controller.close();
      else controller.enqueue(part.value);
    },
    cancel: () => void answer.destroy(),
  });
}

function addressOf(address: string): { readonly hostname: string; readonly port: string } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/\s]+)):(\d{1,5})$/i.exec(address);
  const [, v6, name, port] = match ?? [];
  if (port === undefined) throw new TypeError(`'${address}' is no address such as 127.0.0.1:9000`);
  return { hostname: v6 ?? name ?? '', port };
}
