import { getBranch } from '../../resources/version/branch.ts';
import { commitVersion } from '../../resources/version/commit.ts';
import { countVersions } from '../../resources/version/count.ts';
import { listVersions } from '../../resources/version/list.ts';
import { revertVersion } from '../../resources/version/revert.ts';
import { showVersion } from '../../resources/version/show.ts';
import { getVersionStatus } from '../../resources/version/status.ts';
import { item, list } from '../envelope.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';
import * as wire from '../wire/version.ts';
import { diffShape, wireDiff } from '../wire/version-diff.ts';

/** The paths are there below a group as well, where the family's clients look: there is one history for all groups. */
const read = { method: 'GET', grouped: true } as const;
const write = { method: 'POST', grouped: true } as const;

export const versionRoutes: readonly Route[] = [
  route({
    ...read,
    id: 'versions.list',
    path: '/version',
    summary: 'List the versions of the configuration, newest first',
    verb: listVersions,
    answer: list(wire.versionShape, wire.wireVersion),
    example: { query: { count: '1' } },
  }),
  route({
    ...read,
    id: 'versions.branches',
    path: '/version/branch',
    summary: 'List the branches of versions: there is one',
    verb: getBranch,
    answer: item(wire.branchShape, wire.wireBranch),
  }),
  route({
    ...read,
    id: 'versions.currentBranch',
    path: '/version/current-branch',
    summary: 'Get the branch that is in force',
    verb: getBranch,
    answer: item(wire.currentBranchShape, wire.wireCurrentBranch),
  }),
  route({
    ...read,
    id: 'versions.count',
    path: '/version/count',
    summary: 'Count the versions, or those after the one that `ID` names',
    verb: countVersions,
    answer: item(wire.countShape, wire.wireCount),
    errors: ['not-found'],
  }),
  route({
    ...read,
    id: 'versions.diff',
    path: '/version/diff',
    summary: 'Get what a version changed, the newest by default',
    verb: showVersion,
    answer: item(diffShape, wireDiff),
    errors: ['not-found'],
    example: { query: { filename: 'notifications.yml', diffLineLimit: '5' } },
  }),
  route({
    ...read,
    id: 'versions.files',
    path: '/version/files',
    summary: 'List the files a version changed',
    verb: showVersion,
    answer: item(wire.filesShape, wire.wireFiles),
    errors: ['not-found'],
  }),
  route({
    ...read,
    id: 'versions.info',
    path: '/version/info',
    summary: 'Tell that versions are kept, and nowhere else',
    verb: getBranch,
    answer: item(wire.keepingShape, wire.wireKeeping),
  }),
  route({
    ...read,
    id: 'versions.show',
    path: '/version/show',
    summary: 'Get a version and what it changed',
    verb: showVersion,
    answer: item(wire.showShape, wire.wireShow),
    errors: ['not-found'],
    example: { query: { filename: 'notifications.yml', diffLineLimit: '5' } },
  }),
  route({
    ...read,
    id: 'versions.status',
    path: '/version/status',
    summary: 'Tell which files are not in force because of errors; nothing else ever waits',
    verb: getVersionStatus,
    answer: item(wire.versionStatusShape, wire.wireStatus),
  }),
  route({
    ...write,
    id: 'versions.commit',
    path: '/version/commit',
    summary: 'Get the newest version: whatever takes effect is one already',
    verb: commitVersion,
    takes: { shape: { name: 'CommitRequest' } },
    answer: item(wire.commitShape, wire.wireCommit),
  }),
  route({
    ...write,
    id: 'versions.revert',
    path: '/version/revert',
    summary: 'Make the files read as in a version, with the secrets that are stored now',
    verb: revertVersion,
    takes: { shape: { name: 'RevertRequest' } },
    answer: item(wire.revertShape, wire.wireRevert),
    errors: ['not-found', ...WRITE_ERRORS],
    example: { body: { commit: '{version}' } },
  }),
];
