import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { onTestFinished } from 'vitest';
import type { Pair } from './certificates.ts';

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly user: string | undefined;
  readonly isEncrypted: boolean;
  /** The name that the client asked for in TLS. */
  readonly serverName: unknown;
  /** What the client called itself. */
  readonly hello: string | undefined;
}

/** What the server says in place of yes, such as `451 try again`. */
type Reply = string | undefined;

interface Script {
  /** Certificate; STARTTLS is offered when it is given, TLS from the first byte with `isTls`. */
  readonly pair?: Pair;
  readonly isTls?: boolean;
  readonly versions?: {
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
    readonly maxVersion?: 'TLSv1.1' | 'TLSv1.2';
  };
  readonly account?: { readonly user: string; readonly password: string };
  readonly login?: () => Reply;
  readonly sender?: (address: string) => Reply;
  readonly recipient?: (address: string) => Reply;
  readonly data?: (mail: ReceivedMail) => Reply;
}

const portOf = (server: { address(): unknown }): number => {
  const address = server.address();
  const port: unknown = typeof address === 'object' && address !== null ? Reflect.get(address, 'port') : 0;
  return typeof port === 'number' ? port : 0;
};

function answer(reply: Reply): Error | null {
  if (reply === undefined) return null;
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}

/** A mail server on loopback that says what it is told to say. */
export async function mailServer(script: Script = {}) {
  const mails: ReceivedMail[] = [];
  const logins: string[] = [];
  const { pair, account } = script;
  const server = new SMTPServer({
    secure: script.isTls === true,
    ...(pair !== undefined && { cert: readFileSync(pair.cert), key: readFileSync(pair.key) }),
    ...script.versions,
    authOptional: account === undefined,
    disabledCommands: [
      ...(account === undefined ? ['AUTH'] : []),
      ...(pair === undefined ? ['STARTTLS'] : []),
    ],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth({ username = '', password }, _, done) {
      logins.push(username);
      const isRight = username === account?.user && password === account.password;
      const reply = script.login?.() ?? (isRight ? undefined : '535 5.7.8 authentication failed');
      const error = answer(reply);
      if (error === null) done(null, { user: username });
      else done(error);
    },
    onMailFrom: ({ address }, _, done) => done(answer(script.sender?.(address))),
    onRcptTo: ({ address }, _, done) => done(answer(script.recipient?.(address))),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { envelope, user } = session;
        const mail: ReceivedMail = {
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString('latin1'),
          user: typeof user === 'string' ? user : undefined,
          isEncrypted: session.secure,
          serverName: Reflect.get(session, 'servername'),
          hello: session.hostNameAppearsAs || undefined,
        };
        const error = answer(script.data?.(mail));
        if (error === null) mails.push(mail);
        done(error);
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>(resolve => server.close(resolve)));
  return { port: portOf(server.server), mails, logins };
}

/** A server that follows no protocol: what comes is given to `talk`. */
export async function rawServer(talk: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}));
    talk(socket);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise(resolve => server.close(resolve));
  });
  return portOf(server);
}
