import { readFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { Pair } from './certificates.ts';

export interface AskOptions extends RequestOptions {
  readonly body?: string;
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  /** SHA-256 of the certificate that was shown. */
  readonly fingerprint: string;
  /** Our side of the connection. */
  readonly port: number | undefined;
}

/** A request over TLS, which fetch has no settings for. */
export function ask(url: string, { body, ...options }: AskOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(url, options, response => {
      const chunks: Buffer[] = [];
      const { socket } = response;
      const port = socket.localPort;
      const fingerprint = socket instanceof TLSSocket ? socket.getPeerCertificate().fingerprint256 : '';
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString(), fingerprint, port }),
      );
    });
    call.on('error', reject);
    call.end(body);
  });
}

/** Trusts whom the authority signs, by a connection of its own. */
export const trusting = ({ cert }: Pair) => ({ ca: readFileSync(cert), agent: false as const });

/** Shows a certificate. */
export const showing = ({ cert, key }: Pair) => ({ cert: readFileSync(cert), key: readFileSync(key) });
