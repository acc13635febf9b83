import { systemClock } from '../../src/lib/clock.ts';
import { parseJson } from '../../src/lib/json.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createObservedClock } from '../../src/lib/observed-clock.ts';
import { atOnce, type Slices } from '../../src/lib/slices.ts';
import { createCardinalityLimit } from '../../src/pipelines/components/limits.ts';
import { createComponentRegistry } from '../../src/pipelines/components/registry.ts';
import { profileOf } from '../../src/pipelines/engines/index.ts';
import { ruleLookup } from '../../src/pipelines/engines/profile.ts';
import { createIngester } from '../../src/pipelines/ingest/ingester.ts';
import { createScrapeSource } from '../../src/pipelines/ingest/source.ts';
import { createMonitor } from '../../src/pipelines/monitor.ts';
import { readOtlpJson, readOtlpProtobuf } from '../../src/pipelines/parsers/otlp.ts';
import type { TakePoint } from '../../src/pipelines/parsers/point.ts';
import { readWriteRequest } from '../../src/pipelines/parsers/remote-write.ts';
import { createTextPageReader } from '../../src/pipelines/scrape/page-reader.ts';
import { createSeriesStore } from '../../src/pipelines/series/series-store.ts';
import { type ProfiledSettings, pipelineSchema } from '../../src/pipelines/settings.ts';
import { snapshotFile } from '../../src/pipelines/snapshot/file.ts';
import { idsAtOnce } from '../../test/helpers/component-ids.ts';
import { NO_FILES } from '../../test/helpers/monitor.ts';
import { noHttp } from '../../test/helpers/no-http.ts';
import { impstats, otlpJson, otlpProtobuf, type Round, textPage, writeRequest } from './bodies.ts';
import { rules } from './rules.ts';

const COMPONENTS = 1000;
const ROUNDS = 30;
/** The first ones find series, and the compiler is not through. */
const WARM_UP = 10;
const FIRST_TIME = Date.UTC(2026, 0, 2);
const INTERVAL_MS = 10_000;

const TOKEN = 'token-of-the-measured-pipeline';

/** Takes one body in, to the end; returns how many samples it had. */
type Take<Body> = (body: Body) => number | Promise<number>;

interface Reader {
  readonly name: string;
  /** Makes all bodies, then gives what takes the next one. */
  prepare(rounds: readonly Round[]): () => number | Promise<number>;
}

function reader<Body>(name: string, body: (round: Round) => Body, take: () => Take<Body>): Reader {
  return {
    name,
    prepare(rounds) {
      const bodies = rounds.map(body);
      const taking = take();
      let at = 0;
      return () => {
        const next = bodies[at++];
        return next === undefined ? 0 : taking(next);
      };
    },
  };
}

function pages(openMetrics: boolean): Take<string> {
  const settings: ProfiledSettings = profiled({ url: 'http://127.0.0.1:9/' });
  const [clock, identity] = [systemClock, { pipeline: 'edge', group: 'default', engine: 'custom' }];
  const registry = createComponentRegistry({ clock, limit: COMPONENTS, ids: idsAtOnce() });
  const store = createSeriesStore(COMPONENTS * 100);
  const ingester = createIngester({ clock: { ...clock, unobservedMs: () => 0 }, registry, store });
  const profile = profileOf(settings);
  const read = createTextPageReader({ profile, rulesOf: ruleLookup(profile), ingester });
  const limit = createCardinalityLimit({ limits: settings, clock, logger: silentLogger, refused: () => {} });
  const source = createScrapeSource(
    'edge',
    { pipeline: identity, limit, partial: false, noted: () => {} },
    store,
  );
  return text => {
    const { bad, fault } = atOnce(read(source, Buffer.from(text), openMetrics));
    if (bad > 0 || fault !== undefined) throw new Error(`the page was not read: ${fault?.reason}`);
    return store.count;
  };
}

function profiled(how: object): ProfiledSettings {
  const settings = pipelineSchema.parse({ id: 'edge', engine: 'custom', rules, ...how });
  if (settings.engine === 'rsyslog') throw new Error('rsyslog has no profile');
  return settings;
}

const monitor = (settings: object) => {
  const made = createMonitor({
    http: noHttp,
    clock: createObservedClock({ clock: systemClock, logger: silentLogger }),
    logger: silentLogger,
    snapshot: snapshotFile('/nonexistent'),
    ids: idsAtOnce(),
    files: NO_FILES,
    meter: { refused: () => {}, rejected: () => {}, scrapeFailed: () => {} },
  });
  made.configure([pipelineSchema.parse({ id: 'edge', push: true, token: TOKEN, ...settings })]);
  return made;
};

function points<Body>(read: (body: Body, take: TakePoint) => Slices) {
  return (): Take<Body> => {
    const made = monitor({ engine: 'custom', rules });
    return async body => (await made.ingestPoints('edge', undefined, take => read(body, take))).accepted;
  };
}

const READERS: readonly Reader[] = [
  reader(
    'Prometheus text',
    round => textPage(round, false),
    () => pages(false),
  ),
  reader(
    'OpenMetrics text',
    round => textPage(round, true),
    () => pages(true),
  ),
  reader(
    'OTLP JSON',
    round => Buffer.from(otlpJson(round)),
    points((body, take) => readOtlpJson(parseJson(body.toString()), take)),
  ),
  reader('OTLP protobuf', otlpProtobuf, points(readOtlpProtobuf)),
  reader('remote write, unpacked', writeRequest, points(readWriteRequest)),
  reader('impstats, counters read', impstats, () => {
    const made = monitor({ engine: 'rsyslog' });
    return async text => (await made.ingestImpstats('edge', 'host', text)).accepted * 2;
  }),
];

/** One reader after the other: bodies of 1,000 components, as if each were sent every 10 s. */
const rounds = Array.from({ length: ROUNDS }, (_, at) => ({
  components: COMPONENTS,
  time: FIRST_TIME + at * INTERVAL_MS,
}));
for (const { name, prepare } of READERS) {
  const next = prepare(rounds);
  for (let round = 0; round < WARM_UP; round++) await next();
  const before = process.cpuUsage();
  let samples = 0;
  for (let round = WARM_UP; round < ROUNDS; round++) samples += await next();
  const { user, system } = process.cpuUsage(before);
  process.send?.({ name, samples, cpuSec: (user + system) / 1e6 });
}
process.disconnect?.();
