import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

import { describe, expect, it, test } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import type { Answers } from '../../src/ui/api.ts';
import { memoryBucket } from '../support/buckets.ts';
import { makeGrouped } from '../support/grouped-repository.ts';
import { createPrng } from '../support/prng.ts';
import { sftpBackend, sftpProblem } from '../support/sftp-server.ts';
import { SuspendedBackend } from '../support/suspended-backend.ts';
import { TINY_CHUNKS, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { keyOf, servePage, write } from './support.ts';
import type { ServedPage } from './support.ts';

/** Adds two snapshots, which have something in common. */
async function fill(repository: TestRepository): Promise<TestRepository> {
  mkdirSync(join(repository.source, 'directory'));
  write(repository, 'directory/noise', createPrng(1).bytes(40_000));
  for (const [index, content] of ['old\n', 'new\n'].entries()) {
    write(repository, 'text', content);
    write(repository, `directory/${index}`, createPrng(2 + index).bytes(20_000));
    await repository.backup({ hostname: 'host' });
  }
  return repository;
}

type Given = Record<string, string>;

/** The main questions of all pages, about the newest snapshot. */
async function questionsOf(page: ServedPage): Promise<(readonly [keyof Answers, Given])[]> {
  const { snapshots } = await page.ask('snapshots');
  const [newest, oldest] = [snapshots[0]!.id, snapshots.at(-1)!.id];
  const text = { snapshot: newest, path: keyOf('source/text') };
  return [
    ['snapshots', {}],
    ['freed', { ids: newest }],
    ['overview', {}],
    ['storage', {}],
    ['timeline', {}],
    ['directory', { snapshot: newest, path: keyOf('source/directory') }],
    ['tree', { snapshot: newest, open: ['', 'source'].map(keyOf).join(',') }],
    ['versions', text],
    ['preview', text],
    ['difference', { ...text, before: oldest }],
    ['search', { words: 'o' }],
    ['space', { ids: `${newest},${oldest}` }],
    ['growth', {}],
    ['stats', {}],
    ['retention', { 'keep-last': '1' }],
  ];
}

/** Returns the answers and the refusals by their questions, and the bytes of a download. */
async function askAll(page: ServedPage): Promise<Record<string, unknown>> {
  const said: Record<string, unknown> = {};
  for (const [name, given] of await questionsOf(page)) {
    const answer = await page.ask(name, given).catch((error: Error) => error.message);
    // What is free changes.
    said[name] = name === 'storage' ? { ...(answer as object), freeBytes: undefined, diskBytes: undefined } : answer;
    if (name !== 'preview') continue;
    const asked = await page.ask('ticket', { ...given, format: 'file' }).catch((error: Error) => error.message);
    const download = typeof asked === 'string' ? asked : await page.raw(`/download/${asked.ticket}`, hostOf(page));
    said['download'] = typeof download === 'string' ? download : download.body.toString();
  }
  expect(page.failures).toEqual([]);
  return said;
}

const hostOf = ({ port }: ServedPage): Record<string, string> => ({ host: `127.0.0.1:${port}` });
const placeOf = ({ directory }: TestRepository): string => join(directory, 'repository');

function expectAnswers(said: Record<string, unknown>): void {
  expect(Object.entries(said).filter(([, answer]) => typeof answer === 'string' && /^\d{3}: /.test(answer))).toEqual(
    [],
  );
  expect(said['preview']).toMatchObject({ text: 'new\n' });
  expect(said['difference']).toMatchObject({ hunks: [{ lines: ['-old\n', '+new\n'] }] });
  expect(said['download']).toBe('new\n');
}

describe('the page has the same answers for a repository', () => {
  test('on an SFTP server', async ({ skip }) => {
    skip(sftpProblem !== undefined, sftpProblem);
    const repository = await fill(await makeTestRepository({ chunker: TINY_CHUNKS }));
    const here = await askAll(await servePage(repository.context));
    expectAnswers(here);
    const backend = sftpBackend(placeOf(repository));
    expect(await askAll(await servePage({ ...repository.context, backend }))).toEqual(here);
  });

  it('in a bucket', async () => {
    const repository = await fill(await makeTestRepository({ chunker: TINY_CHUNKS }));
    const here = await askAll(await servePage(repository.context));
    const bucket = memoryBucket();
    const place = placeOf(repository);
    for (const name of readdirSync(place, { recursive: true, encoding: 'utf8' })) {
      const path = join(place, name);
      if (statSync(path).isFile()) bucket.store.objects.set(relative(place, path), readFileSync(path));
    }
    const page = await servePage({ ...repository.context, backend: bucket.open() });
    expect(await askAll(page)).toEqual(here);
    bucket.setAway(true);
    const away = await page.ask('search', { words: 'o' }).catch((error: Error) => error.message);
    expect(away).toMatch(/^500: .*bucket/);
    bucket.setAway(false);
    expect(await askAll(page)).toEqual(here);
  });

  it('that only takes new snapshots', async () => {
    const repository = await fill(await makeTestRepository({ chunker: TINY_CHUNKS, appendOnly: true }));
    expectAnswers(await askAll(await servePage(repository.context)));
  });

  it('of groups, one of which is offline, for all that the others have', async () => {
    const names = ['a', 'b', 'c'];
    const repository = await makeGrouped(names, { copies: 2 });
    await fill(repository);
    const page = await servePage(repository.context);
    const whole = await askAll(page);
    expectAnswers(whole);
    for (const name of names) {
      repository.unmount(name);
      const { storage, ...others } = await askAll(await servePage(repository.context));
      expect(storage).toMatchObject({ bytes: expect.any(Number) as number });
      expect(others).toEqual({ ...whole, storage: undefined });
      repository.mount(name);
    }
    for (const name of ['a', 'b']) repository.unmount(name);
    const fresh = await servePage(repository.context);
    for (const [name, answer] of Object.entries(await askAll(fresh))) {
      if (name === 'storage' || name === 'stats') continue;
      if (typeof answer === 'string' && answer !== whole[name]) expect(answer, name).toMatch(/^500: .*offline/);
      else expect(answer, name).toEqual(whole[name]);
    }
    expect((await fresh.ask('repository')).warnings.join('\n')).toMatch(/group a .*offline[^]*group b .*offline/);
  });
});

describe('the page is right', () => {
  it('beside a backup that is suspended at one of its steps', async () => {
    const repository = await fill(await makeTestRepository({ chunker: TINY_CHUNKS }));
    const before = await askAll(await servePage(repository.context));
    write(repository, 'text', 'newest\n');
    const steps: string[] = [];
    const wanted = [/^create /, /^rename .*packs/, /^rename .*index/, /^rename .*snapshots/];
    let suspended = 0;
    let backend = new LocalBackend(placeOf(repository)) as ConstructorParameters<typeof SuspendedBackend>[0];
    for (const step of wanted) {
      backend = new SuspendedBackend(
        backend,
        (_count, at) => step.test(at),
        async () => {
          suspended += 1;
          const { storage: _storage, stats: _stats, ...said } = await askAll(await servePage(repository.context));
          const { storage: _before, stats: _counts, ...expected } = before;
          steps.push(JSON.stringify(said) === JSON.stringify(expected) ? 'same' : JSON.stringify(said));
        },
      );
    }
    await repository.backup({ hostname: 'host' }, { backend });
    expect(suspended).toBe(wanted.length);
    expect(steps).toEqual(wanted.map(() => 'same'));
  });

  it('when a delete and a compaction run between two of its steps, and these never wait or fail', async () => {
    for (const at of [1, 5, 9, 14, 20]) {
      const repository = await fill(await makeTestRepository({ chunker: TINY_CHUNKS }));
      let [left, isDone] = [Infinity, false];
      const backend = new SuspendedBackend(
        new LocalBackend(placeOf(repository)),
        () => (left -= 1) === 0,
        async () => {
          const deleted = await deleteSnapshots(repository.context, { selectors: ['latest~1'] });
          expect(deleted.notReclaimed).toBeUndefined();
          await compact({ ...repository.context, lockWaitMs: 0 });
          isDone = true;
        },
      );
      const page = await servePage({ ...repository.context, backend });
      const { id: snapshot } = await page.ask('timeline');
      left = at;
      const path = keyOf('source/text');
      expect((await page.ask('preview', { snapshot, path })).text).toBe('new\n');
      expect(await page.ask('directory', { snapshot, path: keyOf('source') })).toMatchObject({ total: 2 });
      expect(await page.ask('search', { words: 'text' })).toMatchObject({ unreadableCount: 0 });
      expect(await page.ask('space', { ids: snapshot })).toMatchObject({ total: { apparentBytes: 80_004 } });
      expect(isDone).toBe(true);
      expect((await page.ask('repository')).warnings).toEqual([]);
    }
  });
});
