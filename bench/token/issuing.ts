import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as z from 'zod';
import { figuresOf, inTurns, ratioOf, type Side } from '../auth/turns.ts';
import { printGoal, printTable, spread } from '../delivery/table.ts';
import { usageOf } from '../delivery/usage.ts';
import { bareSignUs } from './bare-sign.ts';
import { type Store, startHeadgate } from './headgate.ts';
import { type Algorithm, AUDIENCE, type LoginService, SCOPE } from './login-service.ts';
import { startProvider } from './provider.ts';

const GOALS: Readonly<Record<Algorithm, number>> = { ES256: 0.5, RS256: 0.7 };
/** For many thousand requests Node goes on compiling what is called often, which costs more than the tokens. */
const WARM_UP_ROUNDS = 5;
const HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };
const answer = z.object({ access_token: z.string(), token_type: z.literal('Bearer'), scope: z.string() });

export interface Load {
  readonly rounds: number;
  readonly tokens: number;
}

/** Tokens that Headgate issues, beside those of oidc-provider. */
export async function measureIssuing(algorithm: Algorithm, store: Store, load: Load): Promise<void> {
  const services: LoginService[] = [];
  try {
    services.push(await startHeadgate(algorithm, store));
    services.push(await startProvider(algorithm));
    await compare(services, algorithm, load);
  } finally {
    for (const service of services) await service.end();
  }
}

async function compare(
  services: readonly LoginService[],
  algorithm: Algorithm,
  { rounds: count, tokens }: Load,
): Promise<void> {
  const sizes = new Map<string, number>();
  for (const service of services) sizes.set(service.name, await sizeOfToken(service, algorithm));
  const rounds = await inTurns(services.map(sideOf), {
    rounds: count,
    requests: tokens,
    warmUp: WARM_UP_ROUNDS * tokens,
  });
  printTable(
    ['', 'CPU µs of a token', 'tokens/s', 'most MB', 'bytes of a token'],
    services.map(({ name, pid }) => [
      name,
      spread(figuresOf(rounds, name, ({ cpuUs }) => cpuUs)),
      spread(figuresOf(rounds, name, ({ perSecond }) => perSecond)),
      usageOf(pid).peakMb.toFixed(0),
      String(sizes.get(name)),
    ]),
  );
  const bytes = Math.max(...sizes.values());
  console.log(`  jose alone signs ${bytes} bytes for ${(await bareSignUs(algorithm, bytes)).toFixed(0)} µs`);
  const [ours = '', theirs = ''] = services.map(({ name }) => name);
  const ratio = ratioOf(rounds, [ours, theirs], ({ cpuUs }) => cpuUs);
  printGoal(`${algorithm}: CPU of a token, of that of ${theirs}`, ratio, '<=', GOALS[algorithm]);
}

const sideOf = ({ name, pid, url, tokenPath, form }: LoginService): Side => ({
  name,
  pid,
  url,
  request: { method: 'POST', path: tokenPath, headers: HEADERS, body: String(new URLSearchParams(form)) },
});

/** Asks for one token, and throws unless it is what the others shall be. */
async function sizeOfToken(service: LoginService, algorithm: Algorithm): Promise<number> {
  const { url, tokenPath, keysPath, issuer, form } = service;
  const response = await fetch(`${url}${tokenPath}`, { method: 'POST', body: new URLSearchParams(form) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${service.name} answered ${response.status}: ${text}`);
  const { access_token: token, scope } = answer.parse(JSON.parse(text));
  const keys = createRemoteJWKSet(new URL(`${url}${keysPath}`));
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience: AUDIENCE,
    typ: 'at+jwt',
    algorithms: [algorithm],
  });
  for (const said of [scope, payload.scope])
    if (sorted(said) !== sorted(SCOPE)) throw new Error(`${service.name} gave the scope ${said}`);
  return token.length;
}

const sorted = (scope: unknown): string => String(scope).split(' ').sort().join(' ');
