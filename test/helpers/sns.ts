import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { onTestFinished } from 'vitest';
import type { Pair } from './certificates.ts';
import { showing } from './https.ts';

interface Published {
  readonly topic: string | undefined;
  readonly phone: string | undefined;
  readonly subject: string | undefined;
  readonly message: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Of the attributes, in their order. */
  readonly types?: readonly string[];
  readonly groupId: string | undefined;
  readonly deduplicationId: string | undefined;
  readonly keyId: string;
  /** False for what a FIFO topic took and did not pass on. */
  readonly isDelivered: boolean;
}

interface Failure {
  readonly status: number;
  readonly code: string;
  readonly message?: string;
}

interface Script {
  /** Secret keys by their ids. */
  readonly keys?: Readonly<Record<string, string>>;
  /** What is answered in place of an answer by the rules. */
  readonly failure?: (request: URLSearchParams, count: number) => Failure | undefined;
  /** Epoch ms. */
  readonly now?: () => number;
  readonly region?: string;
  /** The certificate it shows; left out, it speaks in clear. */
  readonly certificate?: Pair;
}

const xml = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** A service on loopback that speaks as SNS and STS do: signatures, limits and FIFO topics as AWS documents them. */
export async function snsService(script: Script = {}) {
  const keys = new Map(Object.entries(script.keys ?? { AKIDEXAMPLE0000001: 'the-secret-key' }));
  const published: Published[] = [];
  const roles: URLSearchParams[] = [];
  const seen = new Map<string, number>();
  let count = 0;

  function answer(request: IncomingMessage, body: string): { status: number; text: string } {
    const form = new URLSearchParams(body);
    const failed = (status: number, code: string, message = code) => ({
      status,
      text: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${xml(message)}</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
    });
    const scripted = script.failure?.(form, ++count);
    if (scripted !== undefined) return failed(scripted.status, scripted.code, scripted.message);
    const signed = signatureOf(request, body, keys, script.region ?? 'eu-west-1');
    if (typeof signed === 'string') return failed(403, signed, `no ${signed}`);
    if (form.get('Action') === 'AssumeRole') {
      roles.push(form);
      const id = `ASIAROLE${String(roles.length).padStart(10, '0')}`;
      keys.set(id, 'the key of the role');
      return {
        status: 200,
        text: `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>the key of the role</SecretAccessKey><SessionToken>session</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
      };
    }
    const one = readPublish(form, signed.keyId);
    const wrong = problemOf(one);
    if (wrong !== undefined) return failed(400, 'InvalidParameter', `Invalid parameter: ${wrong}`);
    const now = (script.now ?? Date.now)();
    const dedup = `${one.topic} ${one.deduplicationId}`;
    const last = one.deduplicationId === undefined ? undefined : seen.get(dedup);
    const isRepeat = last !== undefined && now - last < 300_000;
    if (!isRepeat) seen.set(dedup, now);
    published.push({ ...one, isDelivered: !isRepeat });
    return {
      status: 200,
      text: '<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>',
    };
  }

  /** Of each request, whether its connection may serve another. */
  const isKept: boolean[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    isKept.push(request.headers.connection !== 'close');
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const { status, text } = answer(request, Buffer.concat(chunks).toString());
      response.writeHead(status, { 'content-type': 'text/xml' }).end(text);
    });
  };
  const { certificate } = script;
  const server =
    certificate === undefined ? createServer(handle) : createTlsServer(showing(certificate), handle);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    published,
    roles,
    count: () => count,
    isKept,
  };
}

/** Attributes of a form as the Query API flattens them. */
function readPublish(form: URLSearchParams, keyId: string): Omit<Published, 'isDelivered'> {
  const attributes: Record<string, string> = {};
  const types: string[] = [];
  for (let n = 1; form.has(`MessageAttributes.entry.${n}.Name`); n++) {
    const at = (name: string): string => form.get(`MessageAttributes.entry.${n}.${name}`) ?? '';
    attributes[at('Name')] = at('Value.StringValue');
    types.push(at('Value.DataType'));
  }
  const given = (name: string): string | undefined => form.get(name) ?? undefined;
  return {
    topic: given('TopicArn'),
    phone: given('PhoneNumber'),
    subject: given('Subject'),
    message: given('Message') ?? '',
    attributes,
    types,
    groupId: given('MessageGroupId'),
    deduplicationId: given('MessageDeduplicationId'),
    keyId,
  };
}

/** Letters, digits, marks, and dots that neither begin nor end it nor follow each other; AWS keeps two beginnings. */
const ATTRIBUTE_NAME = /^(?!aws\.|amazon\.|\.)(?!.*\.\.)[a-z0-9_.-]{1,256}(?<!\.)$/i;

/** What Publish documents; of the message itself, what XML 1.0 cannot hold. */
export function problemOf(one: Omit<Published, 'isDelivered' | 'keyId'>): string | undefined {
  const isFifo = one.topic?.endsWith('.fifo') === true;
  const attributes = Object.entries(one.attributes);
  const bytes =
    Buffer.byteLength(one.message) +
    attributes.reduce((sum, [name, value]) => sum + Buffer.byteLength(`${name}String${value}`), 0);
  if ((one.topic === undefined) === (one.phone === undefined)) return 'TopicArn or PhoneNumber';
  if (one.phone !== undefined && !/^\+[1-9]\d{1,14}$/.test(one.phone)) return 'PhoneNumber';
  if (one.message === '') return 'Empty message';
  if (bytes > 262_144) return 'Message too long';
  if (one.phone !== undefined && one.message.length > 1600) return 'Message too long for a phone';
  if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(one.message))
    return 'Message: characters';
  if (one.subject !== undefined && !/^[\x21-\x7e][\x20-\x7e]{0,98}$/.test(one.subject)) return 'Subject';
  if (one.subject !== undefined && one.phone !== undefined) return 'Subject of a phone';
  if (attributes.length > 10) return 'more attributes than raw delivery passes on';
  for (const [name, value] of attributes) {
    if (!ATTRIBUTE_NAME.test(name)) return `attribute name ${name}`;
    if (value === '') return `attribute ${name} is empty`;
  }
  for (const type of one.types ?? [])
    if (!/^(String|String\.Array|Number|Binary)(\.[\w.-]+)?$/.test(type)) return `attribute type ${type}`;
  if (isFifo && one.groupId === undefined) return 'MessageGroupId';
  for (const id of [one.groupId, one.deduplicationId])
    if (id !== undefined && (!isFifo || !/^[\x21-\x7e]{1,128}$/.test(id))) return 'an id of FIFO topics';
  return undefined;
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Signature version 4 as its documentation builds it; a code of AWS when it does not fit. */
function signatureOf(
  request: IncomingMessage,
  body: string,
  keys: ReadonlyMap<string, string>,
  region: string,
): string | { readonly keyId: string } {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/(sns|sts)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, keyId = '', day = '', zone = '', service = '', names = '', signature] =
    pattern.exec(request.headers.authorization ?? '') ?? [];
  const secret = keys.get(keyId);
  if (secret === undefined) return 'InvalidClientTokenId';
  const signed = names.split(';');
  if (zone !== region || !signed.includes('host') || !signed.includes('x-amz-date'))
    return 'SignatureDoesNotMatch';
  const headers = signed.map(name => `${name}:${String(request.headers[name] ?? '').trim()}\n`).join('');
  const canonical = [request.method, request.url, '', headers, names, hash(body)].join('\n');
  const scope = `${day}/${zone}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, hash(canonical)].join('\n');
  const key = [zone, service, 'aws4_request'].reduce(hmac, hmac(`AWS4${secret}`, day));
  return hmac(key, text).toString('hex') === signature ? { keyId } : 'SignatureDoesNotMatch';
}
