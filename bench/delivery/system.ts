/** What happens at the source: a subject goes into alarm or is well again. */
export interface BenchEvent {
  readonly key: string;
  readonly state: 'ALARM' | 'OK';
  /** What it is grouped by, where a scenario groups. */
  readonly group?: string;
  /** How long ago it began, in seconds. */
  readonly ageSec?: number;
}

/** A receiver of the sink's. */
export interface Hook {
  readonly name: string;
  readonly url: string;
}

/** How a system is to be set up; what one of them does not know it leaves out. */
export interface Setup {
  /** Kept from one life to the next. */
  readonly folder: string;
  readonly hooks: readonly Hook[];
  /** `one`: each event is a request of its own. `default`: as the system is shipped. */
  readonly requests: 'one' | 'default';
  /** Events of one group go together, after so many seconds. */
  readonly groupWaitSec?: number;
  /** Alertmanager: seconds until a group is looked at for the first time, and between further times. */
  readonly firstWaitSec?: number;
  readonly againSec?: number;
  /** Headgate: waits before each attempt, where the shipped ones are too long to look at. */
  readonly retrySchedule?: readonly string[];
  /** What keeps incidents only and tells nobody. */
  readonly isQuiet?: boolean;
}

interface PostRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A system under test that takes events. */
export interface RunningSystem {
  readonly pid: number;
  readonly origin: string;
  /** One request for all of the events; `sent` (epoch ms) travels with each, so that the sink can tell how long it took. */
  request(events: readonly BenchEvent[], sent: number): PostRequest;
  /** Brings another configuration into force and waits until it is. */
  reload(round: number): Promise<void>;
  /** One page of what is in alarm. */
  readonly list: PostlessRequest;
  kill(): Promise<void>;
}

interface PostlessRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface SystemKind {
  readonly name: string;
  readonly version: string;
  start(setup: Setup): Promise<RunningSystem>;
}

/** As many bytes has a posted event, whoever takes it. */
const EVENT_BYTES = 600;

/** Makes an object with a text that fills it up to that size. */
export function filled(make: (text: string) => object): object {
  return make('x'.repeat(Math.max(0, EVENT_BYTES - JSON.stringify(make('')).length)));
}
