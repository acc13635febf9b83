import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { certificateAuthority } from '../../test/helpers/certificates.ts';
import { testClock } from '../../test/helpers/clock.ts';
import { configFolder } from '../../test/helpers/config-folder.ts';
import { type DataFile, pipelineSchema } from '../pipelines/settings.ts';
import { createOperatorFiles, NO_OPERATOR_FILES } from './operator-files.ts';

const LOOK_MS = 4000;

function watching(files: Readonly<Record<string, string>>, paths: readonly string[]) {
  const folder = configFolder(files);
  const clock = testClock();
  const seen: ReadonlyMap<string, DataFile>[] = [];
  const cancel = createOperatorFiles({ folder, clock }).watch(paths, now => seen.push(now));
  onTestFinished(cancel);
  return {
    seen,
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
    look: () => clock.advance(LOOK_MS),
    cancel,
  };
}

describe('files of data', () => {
  it('are read at once, as YAML or as JSON, and again when they change', async () => {
    const files = watching({ 'a.yml': '- { targets: [x] }\n', 'b.json': '[\t{"targets":["y"]}]' }, [
      'a.yml',
      'b.json',
    ]);
    expect(files.seen).toEqual([
      new Map([
        ['a.yml', { value: [{ targets: ['x'] }] }],
        ['b.json', { value: [{ targets: ['y'] }] }],
      ]),
    ]);
    await files.look();
    expect(files.seen).toHaveLength(1);
    files.write('a.yml', '[]\n');
    await files.look();
    expect(files.seen.at(-1)?.get('a.yml')).toEqual({ value: [] });
  });

  it.each([
    ['that are missing', 'none.yml', {}, /no such file/],
    ['that are a folder', '.', {}, /is a folder/],
    ['of broken YAML', 'a.yml', { 'a.yml': '- {\n' }, /^line \d+: YAML: /],
    ['of tags', 'a.yml', { 'a.yml': '- !!js/function x\n' }, /^line 1: /],
    ['of broken JSON', 'a.json', { 'a.json': '[{' }, /not valid JSON/],
    ['with a key twice', 'a.json', { 'a.json': '[{"targets":[],"targets":[]}]' }, /twice/],
    ['over 2 MiB', 'a.yml', { 'a.yml': `# ${'x'.repeat(2 ** 21)}\n` }, /over the 2097152 bytes/],
  ])('%s are told as such', (_, path, contents, error) => {
    const { seen } = watching(contents, [path]);
    expect(seen[0]?.get(path)).toEqual({ error: expect.stringMatching(error) });
  });

  it('hold nothing while they are empty', () => {
    const { seen } = watching({ 'a.yml': '# nothing yet\n', 'b.json': '' }, ['a.yml', 'b.json']);
    expect([...(seen[0]?.values() ?? [])]).toEqual([{ value: undefined }, { value: undefined }]);
  });

  it('are found when they appear, and left alone after the end', async () => {
    const files = watching({}, ['late.yml']);
    files.write('late.yml', '[]');
    await files.look();
    expect(files.seen.at(-1)?.get('late.yml')).toEqual({ value: [] });
    files.cancel();
    files.write('late.yml', '[1]');
    await files.look();
    expect(files.seen).toHaveLength(2);
  });
});

describe('files of tls', () => {
  function tlsOf(tls: object) {
    const pipeline = pipelineSchema.parse({ id: 'a', engine: 'vector', url: 'https://a/', tls });
    if (pipeline.push || pipeline.tls === undefined) throw new Error('tls was expected');
    return pipeline.tls;
  }
  const files = createOperatorFiles({ folder: '/', clock: testClock() });

  it('are a certificate with its key, and the authorities to trust', () => {
    const authority = certificateAuthority();
    const { cert, key } = authority.issue('reader', 'open sesame');
    const settings = tlsOf({
      certPath: cert,
      privKeyPath: key,
      passphrase: 'open sesame',
      caPath: authority.cert,
    });
    const { tls, fault } = files.tls(settings);
    expect(fault).toBeUndefined();
    expect(tls).toMatchObject({
      cert: expect.stringContaining('CERTIFICATE'),
      key: expect.stringContaining('ENCRYPTED'),
      ca: expect.stringContaining('CERTIFICATE'),
      passphrase: 'open sesame',
    });
    expect(files.tls(settings).tls).toBe(tls);
  });

  it('are read again when they change, and a half-written pair leaves the one of before', () => {
    const authority = certificateAuthority();
    const [one, other] = [authority.issue('one'), authority.issue('other')];
    const settings = tlsOf({ certPath: one.cert, privKeyPath: one.key });
    const first = files.tls(settings).tls;
    const [cert, key] = [other.cert, other.key].map(path => readFileSync(path, 'utf8'));
    writeFileSync(one.cert, cert ?? '');
    expect(files.tls(settings)).toMatchObject({
      tls: first,
      fault: expect.stringMatching(/^tls\.privKeyPath: the key in .* is not that of the certificate/),
    });
    writeFileSync(one.key, key ?? '');
    const second = files.tls(settings);
    expect(second.fault).toBeUndefined();
    expect(second.tls?.fingerprint).not.toBe(first?.fingerprint);
  });

  it('that are missing are named by their setting', () => {
    expect(files.tls(tlsOf({ caPath: 'no/such.pem' }))).toMatchObject({
      tls: undefined,
      fault: 'tls.caPath: there is no file /no/such.pem',
    });
  });
});

it('are not read at all where none may be named', () => {
  const seen: ReadonlyMap<string, DataFile>[] = [];
  NO_OPERATOR_FILES.watch(['/etc/hosts'], now => seen.push(now));
  expect(seen).toEqual([new Map([['/etc/hosts', { error: 'files cannot be named here' }]])]);
  const pipeline = pipelineSchema.parse({
    id: 'a',
    engine: 'vector',
    url: 'https://a/',
    tls: { caPath: '/x' },
  });
  if (pipeline.push || pipeline.tls === undefined) throw new Error('tls was expected');
  expect(NO_OPERATOR_FILES.tls(pipeline.tls).tls).toBeUndefined();
});
