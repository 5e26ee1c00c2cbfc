import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { initRepository } from '../../src/core/creating/init.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { rotateMasterKey } from '../../src/verbs/key/key-rotation.ts';
import { optionsOfTests } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { TEST_PASSWORD } from '../support/test-password.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { WatchedBackend } from '../support/watched-backend.ts';
import { keyOf, servePage, write } from './support.ts';

const SECOND_MS = 1000;
/** What changes nothing, not even for a moment. */
const READING = new Set(['list', 'read', 'readRange', 'sizeOf', 'heartbeatOf']);
let aheadMs = 0;

beforeEach(() => {
  aheadMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
});

const placeOf = ({ directory }: TestRepository): string => join(directory, 'repository');

describe('a page of a damaged repository', () => {
  it('takes no lock, opens it again at most every ten seconds, and sees a repair', async () => {
    const repository = await makeTestRepository();
    write(repository, 'file', 'content');
    await repository.backup();
    const backend = new FaultyBackend(new LocalBackend(placeOf(repository)));
    const countOpenings = (): number => backend.operations.filter(({ name }) => name === 'config').length;
    const away = join(repository.directory, 'away');
    renameSync(join(placeOf(repository), 'packs'), away);
    const page = await servePage({ ...repository.context, backend });
    const { snapshots } = await page.ask('snapshots');
    const [snapshot] = snapshots.map(({ id }) => id);
    const path = keyOf('source/file');
    const askAll = async (): Promise<void> => {
      await expect(page.ask('preview', { snapshot: snapshot!, path })).rejects.toThrow('500: chunk');
      await expect(page.ask('directory', { snapshot: snapshot!, path: '' })).rejects.toThrow('500: chunk');
      await expect(page.ask('ticket', { snapshot: snapshot!, path, format: 'file' })).rejects.toThrow('500: chunk');
      const { nodes } = await page.ask('tree', { snapshot: snapshot!, open: '' });
      expect(nodes).toMatchObject([{ error: expect.stringContaining('is in no pack') as string }]);
      expect(await page.ask('search', { words: 'file' })).toMatchObject({ unreadableCount: 1, rows: [] });
      await expect(page.ask('space', { ids: snapshot! })).rejects.toThrow('500: chunk');
    };
    await askAll();
    const openings = countOpenings();
    await expect(page.ask('preview', { snapshot: snapshot!, path })).rejects.toThrow('500: chunk');
    expect(countOpenings()).toBe(openings);
    renameSync(away, join(placeOf(repository), 'packs'));
    aheadMs += 10 * SECOND_MS;
    expect((await page.ask('preview', { snapshot: snapshot!, path })).text).toBe('content');
    expect(countOpenings()).toBeGreaterThan(openings);
    expect(backend.operations.filter(({ operation }) => !READING.has(operation))).toEqual([]);
    expect(page.failures).toEqual([]);
  });

  it('names the snapshots that are missing from its table', async () => {
    const repository = await makeTestRepository();
    const ids: string[] = [];
    for (const content of ['one', 'two', 'three', 'four']) {
      write(repository, 'file', content);
      ids.push((await repository.backup()).snapshotId!);
    }
    const [lost, copied, gone, sound] = ids;
    const at = (directory: string, id: string): string => join(placeOf(repository), directory, id);
    for (const path of [at('snapshots', copied!), at('snapshots', gone!), at('manifests.bak', gone!)]) {
      chmodSync(path, 0o600);
      writeFileSync(path, 'damaged');
    }
    for (const directory of ['snapshots', 'manifests.bak']) rmSync(at(directory, lost!));
    const page = await servePage(repository.context);
    const { snapshots } = await page.ask('snapshots');
    expect(snapshots.map(({ id }) => id)).toEqual([sound, copied]);
    const { warnings } = await page.ask('repository');
    for (const id of [lost!, copied!, gone!]) {
      expect(warnings).toContainEqual(expect.stringContaining(`snapshots/${id}`));
    }
    expect(warnings.join(' ')).not.toContain(sound!);
  });
});

describe('a page of a repository that changes', () => {
  it('answers with what is stored now a question that began before another one noticed the change', async () => {
    const repository = await makeTestRepository();
    write(repository, 'file', 'old');
    await repository.backup();
    write(repository, 'file', 'new');
    const { snapshotId } = await repository.backup();
    let held: (() => void) | undefined;
    let isHolding = false;
    const backend = new WatchedBackend(placeOf(repository), async (operation, name) => {
      if (!isHolding || operation !== 'list' || name !== 'snapshots') return;
      isHolding = false;
      await new Promise<void>((resolve) => (held = resolve));
    });
    const page = await servePage({ ...repository.context, backend });
    const question = { snapshot: snapshotId!, path: keyOf('source') };
    aheadMs += 3 * SECOND_MS;
    isHolding = true;
    const early = page.ask('directory', question);
    await vi.waitFor(() => expect(held).toBeDefined());
    await deleteSnapshots(repository.context, { selectors: ['latest~1'] });
    aheadMs += 3 * SECOND_MS;
    expect((await page.ask('snapshots')).snapshots).toHaveLength(1);
    held!();
    expect(await early).toMatchObject({ total: 1 });
    expect(page.failures).toEqual([]);
  });

  it('reads to the end with what it had, and then closes it', async () => {
    const repository = await makeTestRepository();
    write(repository, 'file', 'old');
    await repository.backup();
    write(repository, 'file', 'new');
    const { snapshotId } = await repository.backup();
    let held: (() => void) | undefined;
    const backend = new WatchedBackend(placeOf(repository), async (operation, name) => {
      if (held !== undefined || operation !== 'readRange' || !name.startsWith('packs/')) return;
      await new Promise<void>((resolve) => (held = resolve));
    });
    const page = await servePage({ ...repository.context, backend });
    const reading = page.ask('preview', { snapshot: snapshotId!, path: keyOf('source/file') });
    await vi.waitFor(() => expect(held).toBeDefined());
    await deleteSnapshots(repository.context, { selectors: ['latest~1'] });
    aheadMs += 3 * SECOND_MS;
    expect((await page.ask('snapshots')).snapshots).toHaveLength(1);
    held!();
    expect((await reading).text).toBe('new');
  });
});

it('a question after the master key was rotated is answered', async () => {
  const directory = memoryDirectory();
  const context = {
    backend: new LocalBackend(join(directory, 'repository')),
    ...optionsOfTests(),
    password: TEST_PASSWORD,
  };
  await initRepository(context, { capacity: 256 });
  writeFileSync(join(directory, 'file'), 'content');
  const save = async (): Promise<unknown> => backup(context, { sources: [join(directory, 'file')], cwd: directory });
  await save();
  const page = await servePage(context);
  expect((await page.ask('snapshots')).snapshots).toHaveLength(1);
  await rotateMasterKey(context);
  await save();
  aheadMs += 3 * SECOND_MS;
  expect((await page.ask('snapshots')).snapshots).toHaveLength(2);
  expect((await page.ask('search', { words: 'file' })).rows).toHaveLength(1);
});
