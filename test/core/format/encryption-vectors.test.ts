import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import { deriveKey, keepMasterKey } from '../../../src/core/crypto/master-key.ts';
import type { KeptMasterKey } from '../../../src/core/crypto/master-key.ts';
import { KeyRing } from '../../../src/core/crypto/seals.ts';
import { openStream } from '../../../src/core/crypto/stream-seal.ts';
import { decodeCondemnation } from '../../../src/core/format/condemnation.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { testPassword } from '../../support/test-password.ts';
import { exampleOf } from './format-document.ts';
import { sha256 } from './stranger-bytes.ts';
import { openKeyFile, parseChecked } from './stranger-config.ts';
import * as stranger from './stranger-crypto.ts';
import { LABELS } from './stranger-crypto.ts';
import type { Label } from './stranger-crypto.ts';
import { chunkIdOf, DATA, parseCondemnation, TREE } from './stranger-packs.ts';
import { filesOfSnapshot, openStranger } from './stranger-repository.ts';

/** What was derived and sealed once must stay so: each vector is opened by the program, and without it. */
const VECTORS = JSON.parse(
  readFileSync(new URL('../../../fixtures/vectors/encryption.json', import.meta.url), 'utf8'),
) as {
  readonly master_key: string;
  readonly second_master_key: string;
  readonly repository_id: string;
  readonly password: string;
  readonly derived_keys: Readonly<Record<Label, string>>;
  readonly tree_id_key: string;
  readonly chunk_ids: readonly { hash: 'sha1' | 'sha256'; content: string; data: string; tree: string }[];
  readonly envelopes: readonly { label: Label; epoch: number; plain: string; sealed: string }[];
  readonly files: readonly { name: string; opened_sha256: string; bytes: string }[];
};

const REPOSITORY_ID = Buffer.from(VECTORS.repository_id, 'hex');
const STRANGER_KEYS: stranger.StrangerKeys = {
  repositoryId: REPOSITORY_ID,
  masterKeys: new Map(
    [VECTORS.master_key, VECTORS.second_master_key].map((key, i) => [i + 1, Buffer.from(key, 'hex')]),
  ),
};
const FIRST = kept(1);
const RING = new KeyRing(VECTORS.repository_id, [FIRST, kept(2)]);
const KEY_FILE = Buffer.from(exampleOf('json key'));
/** The files of the repository without its key file. */
const FILES = new Map(VECTORS.files.map(({ name, bytes }) => [name, Buffer.from(bytes, 'base64')]));

function kept(epoch: number): KeptMasterKey {
  return keepMasterKey({ epoch, bytes: Buffer.from(STRANGER_KEYS.masterKeys.get(epoch)!) });
}

describe('keys', () => {
  test('the example of a key file holds the master key', async () => {
    const { masterKey, epoch, repositoryId } = await openKeyFile(KEY_FILE, VECTORS.password);
    expect([masterKey.toString('hex'), epoch, repositoryId]).toEqual([VECTORS.master_key, 1, VECTORS.repository_id]);
  });

  test.each(LABELS)('the key for %s', (label) => {
    expect(deriveKey(FIRST, REPOSITORY_ID, label).toString('hex')).toBe(VECTORS.derived_keys[label]);
    expect(stranger.derivedKey(STRANGER_KEYS, label, 1).toString('hex')).toBe(VECTORS.derived_keys[label]);
  });

  test('the vectors have every label of the document, and no two equal keys', () => {
    expect(Object.keys(VECTORS.derived_keys)).toEqual([...LABELS]);
    expect(new Set([...Object.values(VECTORS.derived_keys), VECTORS.tree_id_key]).size).toBe(LABELS.length + 1);
    const document = readFileSync(new URL('../../../docs/format.md', import.meta.url), 'utf8');
    const rows = document.slice(document.indexOf('| label | key of |')).matchAll(/^\| `([a-z ]+)` \|/gm);
    expect([...rows].slice(0, LABELS.length).map(([, label]) => label)).toEqual([...LABELS]);
  });

  test('chunk ids', () => {
    const idKey = VECTORS.derived_keys['data ids'];
    const treeKey = hkdfSync('sha256', Buffer.from(idKey, 'hex'), '', 'ldm tree id', 32);
    expect(Buffer.from(treeKey).toString('hex')).toBe(VECTORS.tree_id_key);
    expect(VECTORS.chunk_ids).toHaveLength(4);
    for (const { hash, content, data, tree } of VECTORS.chunk_ids) {
      const bytes = Buffer.from(content);
      const hasher = new ChunkHasher(hash, Buffer.from(idKey, 'hex'));
      expect([hasher.dataId(bytes), hasher.treeId(bytes)].map((id) => Buffer.from(id).toString('hex'))).toEqual([
        data,
        tree,
      ]);
      const config = { chunk_hash: hash, id_key: idKey } as Parameters<typeof chunkIdOf>[0];
      expect([DATA, TREE].map((kind) => chunkIdOf(config, kind, bytes))).toEqual([data, tree]);
    }
  });
});

describe('sealed', () => {
  test.each(VECTORS.envelopes)('$label of epoch $epoch: $plain', ({ label, plain, sealed }) => {
    const bytes = Buffer.from(sealed, 'hex');
    expect(Buffer.from(RING.open(label, bytes)).toString('hex')).toBe(plain);
    expect(stranger.openEnvelope(STRANGER_KEYS, label, bytes).toString('hex')).toBe(plain);
    for (const other of LABELS.filter((each) => each !== label))
      expect(() => RING.open(other, bytes)).toThrow(/changed/);
  });

  test('there is an envelope of each kind', () => {
    const labels = new Set<string>(VECTORS.envelopes.map(({ label }) => label));
    expect(LABELS.filter((label) => !labels.has(label))).toEqual(['data ids', 'chunker', 'filter']);
  });

  test.each(VECTORS.files)('$name', async ({ name, opened_sha256: digest }) => {
    const bytes = FILES.get(name)!;
    expect([sha256(openByStranger(name, bytes)), sha256(await openByProgram(name, bytes))]).toEqual([digest, digest]);
  });
});

/** The envelope in a file, and the label of its key. */
function envelopeOf(name: string, bytes: Buffer): readonly [Label, Buffer] {
  const directory = name.split('/')[0]!;
  if (directory === 'config') return ['config', Buffer.from(String(parseChecked(bytes)['sealed']), 'base64')];
  if (directory === 'packs') {
    const end = bytes.length - 16;
    return ['footers', bytes.subarray(end - bytes.readUInt32LE(end), end)];
  }
  const labels: Record<string, Label> = { index: 'segments', condemned: 'condemnations' };
  return [labels[directory] ?? 'snapshots', bytes];
}

function openByStranger(name: string, bytes: Buffer): Buffer {
  if (name.startsWith('filter/')) return stranger.openStream(STRANGER_KEYS, bytes);
  return stranger.openEnvelope(STRANGER_KEYS, ...envelopeOf(name, bytes));
}

async function openByProgram(name: string, bytes: Buffer): Promise<Uint8Array> {
  if (!name.startsWith('filter/')) return RING.open(...envelopeOf(name, bytes));
  const readRange = async (offset: number, target: Uint8Array): Promise<void> =>
    target.set(bytes.subarray(offset, offset + target.length));
  const source = await openStream({ sizeBytes: bytes.length, readRange }, RING);
  const plain = Buffer.alloc(source.sizeBytes);
  await source.readRange(0, plain);
  return plain;
}

describe('the repository', () => {
  /** The condemnation lists what the other files need. */
  const whole = new Map(
    [...FILES, [`keys/${sha256(KEY_FILE)}`, KEY_FILE] as const].filter(([name]) => !name.startsWith('condemned')),
  );

  test('is read without the program', async () => {
    const opened = await openStranger(whole, VECTORS.password);
    const files = filesOfSnapshot(opened, [...opened.snapshots.keys()][0]!);
    expect([...files].map(([path, { content }]) => [path, content?.toString()])).toEqual([
      ['docs', undefined],
      ['docs/hello.txt', 'hello world\n'],
      ['docs/zeros', '\0'.repeat(300)],
    ]);
  });

  test('is checked and restored by the program', async () => {
    const backend = new MemoryBackend();
    for (const directory of ['locks', 'tmp']) backend.pokeDirectory(directory);
    for (const [name, bytes] of whole) backend.poke(name, bytes);
    const context = { backend, password: testPassword(VECTORS.password) };
    // The copy of the configuration was left out.
    const { findings } = await check(context, { readData: true });
    expect(findings.map(({ kind }) => kind)).toEqual(['config-damaged']);
    const target = memoryDirectory();
    expect((await restore(context, { selector: 'latest', target })).problems).toEqual([]);
    expect(readFileSync(join(target, 'docs/hello.txt'), 'utf8')).toBe('hello world\n');
  });

  test('its condemnation lists its segment and its packs', () => {
    const [name] = [...FILES.keys()].filter((each) => each.startsWith('condemned'));
    const opened = openByStranger(name!, FILES.get(name!)!);
    const idsIn = (directory: string): string[] =>
      [...FILES.keys()]
        .filter((each) => each.startsWith(directory))
        .map((each) => each.slice(-64))
        .sort();
    const { segments, packs } = parseCondemnation(opened);
    expect([segments, packs.toSorted()]).toEqual([idsIn('index'), idsIn('packs')]);
    const { segmentIds, packIds } = decodeCondemnation(opened);
    expect([segmentIds, packIds]).toEqual([segments, packs]);
  });
});
