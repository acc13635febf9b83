import type { Verb } from '../../resources/verb.ts';
import { getBranch } from '../../resources/version/branch.ts';
import { commitVersion } from '../../resources/version/commit.ts';
import { countVersions } from '../../resources/version/count.ts';
import { listVersions } from '../../resources/version/list.ts';
import { revertVersion } from '../../resources/version/revert.ts';
import { showVersion } from '../../resources/version/show.ts';
import { getVersionStatus } from '../../resources/version/status.ts';
import type { Version } from '../../resources/version/version.ts';
import { envelope, single } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import {
  wireCommit,
  wireDiff,
  wireFiles,
  wireRevert,
  wireShow,
  wireStatus,
  wireVersion,
} from '../wire/version.ts';

/** The paths are there below a group as well, where the family's clients look: there is one history for all groups. */
const get = <Input, Output>(
  path: string,
  summary: string,
  verb: Verb<Input, Output>,
  shape: (output: Output) => object,
): Route => route({ method: 'GET', path: `/version${path}`, grouped: true, summary, verb, shape });

interface Shown {
  readonly version: Version;
  readonly lineLimit: number;
}

const shown =
  (shape: (version: Version, lineLimit: number) => object) =>
  ({ version, lineLimit }: Shown): object =>
    single(shape(version, lineLimit));

export const versionRoutes: readonly Route[] = [
  get('', 'List the versions of the configuration, newest first', listVersions, page =>
    envelope(page, wireVersion),
  ),
  get('/branch', 'List the branches of versions: there is one', getBranch, ({ branch }) =>
    single({ id: branch }),
  ),
  get('/current-branch', 'Get the branch that is in force', getBranch, single),
  get('/count', 'Count the versions', countVersions, single),
  get('/diff', 'Get what a version changed, the newest by default', showVersion, shown(wireDiff)),
  get('/files', 'List the files a version changed', showVersion, shown(wireFiles)),
  get('/info', 'Tell that versions are kept, and where', getBranch, () =>
    single({ versioning: true, remote: '' }),
  ),
  get('/show', 'Get a version and what it changed', showVersion, shown(wireShow)),
  get('/status', 'Tell which files are not in force', getVersionStatus, status => single(wireStatus(status))),
  route({
    method: 'POST',
    path: '/version/commit',
    grouped: true,
    summary: 'Get the newest version: whatever takes effect is one already',
    verb: commitVersion,
    shape: version => single(wireCommit(version)),
  }),
  route({
    method: 'POST',
    path: '/version/revert',
    grouped: true,
    summary: 'Make the files read as in a version',
    verb: revertVersion,
    shape: result => single(wireRevert(result)),
  }),
];
