import { type Load, loadOf } from '../helpers/bombs/load.ts';
import { PUSH_BOMBS, type PushBomb } from '../helpers/bombs/pushes.ts';
import { TEXT_BOMBS, type TextBomb } from '../helpers/bombs/texts.ts';
import { ADMIN_PASSWORD, type Served } from './bin.ts';
import { login } from './client.ts';

/** Heap (MB) of a server that bombs are sent to. */
const HEAP_MB = 512;

export const BOMB_ENVIRONMENT = {
  HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD,
  NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
};

const TOKENS = { custom: 'token-of-the-custom-pipeline', rsyslog: 'token-of-the-rsyslog-pipeline' };

/** The files of such a server: a pipeline for each engine that takes pushes of its own. */
export const BOMB_FILES = {
  settings: {
    pipelines: (['custom', 'rsyslog'] as const).map(engine => ({
      id: engine,
      engine,
      push: true,
      token: TOKENS[engine],
    })),
  },
  notifications: { targets: [], notifications: [] },
};

export interface Answer extends Load {
  readonly status: number;
  readonly text: string;
}

type Ask = (bomb: PushBomb | TextBomb) => Promise<{ readonly status: number; readonly text: string }>;

/** Sends bombs one after the other to a server that has served one of each kind that is none. */
export async function bombarded(server: Served, pathOf: (operation: string) => string) {
  const { token } = await login(server.url);
  const ask: Ask = async bomb => {
    const isPush = 'operation' in bomb;
    const { path, headers, body } = isPush ? pushOf(bomb) : checkOf(bomb);
    const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body });
    return { status: answer.status, text: await answer.text() };
  };
  const pushOf = ({ operation, type, encoding, engine = 'custom', body }: PushBomb) => ({
    path: pathOf(operation),
    headers: {
      authorization: `Bearer ${TOKENS[engine]}`,
      'content-type': type,
      ...(encoding !== undefined && { 'content-encoding': encoding }),
    },
    body: new Uint8Array(body()),
  });
  const checkOf = ({ file, text }: TextBomb) => ({
    path: '/api/v1/system/config/check',
    headers: { authorization: token, 'content-type': 'application/json' },
    body: JSON.stringify({ files: { [file]: text() } }),
  });
  for (const bomb of [...PUSH_BOMBS, ...TEXT_BOMBS]) await ask(plainOf(bomb));
  return async (bomb: PushBomb | TextBomb): Promise<Answer> => {
    const { result, ...load } = await loadOf(server, ask(bomb));
    return { ...result, ...load };
  };
}

/** Of the same kind, and small. */
function plainOf(bomb: PushBomb | TextBomb): PushBomb | TextBomb {
  if ('operation' in bomb) return { ...bomb, body: () => Buffer.from('{}') };
  return { ...bomb, text: () => `# ${'x'.repeat(20_000)}\n` };
}
