import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WrongPasswordError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { testPassword } from '../../support/test-password.ts';
import { threadsOfTests } from '../../support/test-threads.ts';
import { DATA, TREE, chunkIdOf } from './stranger-packs.ts';
import { filesOfSnapshot, openStranger } from './stranger-repository.ts';
import {
  directoryEntry,
  encodeManifest,
  encodeSegment,
  encodeTree,
  fileEntry,
  makeBlock,
  makeKeys,
  makePack,
  newPlace,
  sealFile,
  symlinkEntry,
} from './stranger-writer.ts';
import type { StrangerPlace } from './stranger-writer.ts';

const PASSWORD = 'pässword';
const RANDOM = createPrng(2).bytes(70_000);
const TEXT = Buffer.from('text '.repeat(5000));

/** A repository with one snapshot of `/data`: `random`, `sub/text` and `sub/link`. */
async function makeRepository(place: StrangerPlace): Promise<Map<string, Buffer>> {
  const [first, second] = [RANDOM.subarray(0, 40_000), RANDOM.subarray(40_000)];
  const blocks = [makeBlock(place, DATA, [first, second]), makeBlock(place, DATA, [TEXT], { codec: 1 })];
  const idOf = (bytes: Buffer): string => chunkIdOf(place.config, DATA, bytes);
  const sub = encodeTree([symlinkEntry('link', 'text'), fileEntry('text', TEXT.length, [idOf(TEXT)])]);
  const root = encodeTree([
    fileEntry('random', RANDOM.length, [idOf(first), idOf(second)]),
    directoryEntry('sub', chunkIdOf(place.config, TREE, sub)),
  ]);
  const packs = [
    await makePack(place, DATA, blocks),
    await makePack(place, TREE, [makeBlock(place, TREE, [sub, root])]),
  ];
  const manifest = encodeManifest(chunkIdOf(place.config, TREE, root), {
    base: '/data',
    paths: ['/data/random', '/data/sub'],
  });
  const segment = encodeSegment(packs.map(({ pack }) => pack));
  return new Map([
    ...(await makeKeys(place, PASSWORD)),
    ...packs.map(({ pack: { id }, bytes }) => [`packs/${id.slice(0, 2)}/${id}`, bytes] as const),
    sealFile(place, { directory: 'index', label: 'segments' }, segment),
    sealFile(place, { directory: 'snapshots', label: 'snapshots' }, manifest),
  ]);
}

function openHere(
  files: ReadonlyMap<string, Buffer>,
  password = PASSWORD,
): OperationContext & { backend: MemoryBackend } {
  const backend = new MemoryBackend();
  for (const directory of ['packs', 'index', 'snapshots', 'filter', 'locks', 'tmp']) backend.pokeDirectory(directory);
  for (const [name, bytes] of files) backend.poke(name, bytes);
  return { backend, password: testPassword(password), threads: threadsOfTests() };
}

/** Checks and restores the repository. */
async function expectAccepted(context: OperationContext): Promise<void> {
  expect((await check(context, { readData: true })).findings).toEqual([]);
  const target = memoryDirectory();
  expect((await restore(context, { selector: 'latest', target })).problems).toEqual([]);
  expect(readFileSync(join(target, 'random'))).toEqual(RANDOM);
  expect(readFileSync(join(target, 'sub/text'))).toEqual(TEXT);
  expect(readlinkSync(join(target, 'sub/link'))).toBe('text');
}

test.each([[['blake3-packs', 'encryption']], [['encryption']]])(
  'the program accepts a repository that a stranger wrote, with the features %j',
  async (features) => {
    const context = openHere(await makeRepository(newPlace(features)));
    await expectAccepted(context);
    // It also adds to it, and the stranger reads both.
    const source = memoryDirectory();
    writeFileSync(join(source, 'new'), 'new\n');
    const { snapshotId } = await backup(context, { sources: [source], cwd: '/' });
    const { backend } = context;
    const stored = new Map(backend.names().map((name) => [name, backend.peek(name)!]));
    const opened = await openStranger(stored, PASSWORD);
    expect(opened.snapshots.size).toBe(2);
    const files = [...filesOfSnapshot(opened, snapshotId!)];
    expect(files.find(([path]) => path.endsWith('/new'))![1].content!.toString()).toBe('new\n');
  },
);

test('the program opens what was sealed under an earlier master key', async () => {
  const place = newPlace();
  const files = await makeRepository(place);
  const [earlier] = place.keys.masterKeys.values();
  const masterKeys = new Map([[2, randomBytes(32)]]);
  const rotated = {
    keys: { ...place.keys, masterKeys },
    config: { ...place.config, earlier_keys: [{ epoch: 1, key: earlier!.toString('hex') }] },
  };
  const old = [...files].filter(([name]) => !/^(config|keys)/.test(name));
  const context = openHere(new Map([...old, ...(await makeKeys(rotated, PASSWORD))]));
  await expectAccepted(context);
});

test('the program refuses another password', async () => {
  const context = openHere(await makeRepository(newPlace()), 'password');
  await expect(check(context)).rejects.toThrow(WrongPasswordError);
});
