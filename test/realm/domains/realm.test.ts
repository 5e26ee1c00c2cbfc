import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import {
  NoPasswordError,
  RefusedError,
  TargetError,
  UsageError,
  WrongPasswordError,
} from '../../../src/core/errors.ts';
import { decodeConfigHead } from '../../../src/core/format/config.ts';
import { decodeRealmKey } from '../../../src/realm/formats/realm-key.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { exportMembership } from '../../../src/filters/export/export.ts';
import { initRepository, initRepositoryIfMissing } from '../../../src/core/creating/init.ts';
import type { InitOptions } from '../../../src/core/creating/init-options.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { assertRealm } from '../../../src/realm/domains/assert-realm.ts';
import { createRealm } from '../../../src/realm/verbs/realm/create.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { KINDS, OPTIONS, newMember, newPlace, newRealm } from '../../support/realm.ts';
import type { Kind } from '../../support/realm.ts';
import { createPrng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { testPassword } from '../../support/test-password.ts';
import { TINY_CHUNKS } from '../../support/test-repository.ts';

const SEED = 11;

function makeSource(): string {
  const source = memoryDirectory();
  const random = createPrng(SEED);
  for (const name of ['a', 'b', 'c']) writeFileSync(join(source, name), random.bytes(60_000));
  return source;
}

/** Backs up a directory, and returns the ids of all its chunks and trees, sorted, as hex. */
async function idsOf(context: OperationContext, source: string): Promise<string> {
  await backup(context, { sources: [source], cwd: source });
  return Buffer.from((await exportMembership(context, { format: 'raw' })).bytes).toString('hex');
}

describe('repositories of a realm', () => {
  it.each(KINDS)('give the same data the same chunk ids, and cut it at the same places (%s)', async (kind) => {
    const file = await newRealm(kind);
    const source = makeSource();
    const ids = await idsOf(await newMember(kind, file), source);
    expect(ids.length / 40).toBeGreaterThan(50);
    expect(await idsOf(await newMember(kind, file), source)).toBe(ids);
    const alone = newPlace();
    await initRepository(alone, { ...OPTIONS[kind], chunker: TINY_CHUNKS });
    expect(await idsOf(alone, source)).not.toBe(ids);
    expect(await idsOf(await newMember(kind, await newRealm(kind)), source)).not.toBe(ids);
  });

  it.each(KINDS)('say so in their configuration, and copies between them are exact (%s)', async (kind) => {
    const file = await newRealm(kind, { chunkHash: 'sha256' });
    const { realmId } = decodeRealmKey(readFileSync(file)).header;
    const [a, b] = [await newMember(kind, file), await newMember(kind, file)];
    expect(await collectStats(a)).toMatchObject({ realmId });
    const head = decodeConfigHead(await a.backend.read('config'));
    expect(head).toMatchObject({ isInRealm: true, isEncrypted: kind === 'encrypted' });
    // Outside of the seal, the configuration of an encrypted one does not say of which realm it is.
    const config = Buffer.from(await a.backend.read('config')).toString();
    expect(config.includes(realmId)).toBe(kind === 'plain');
    await idsOf(a, makeSource());
    expect((await copySnapshots(a, { destination: b })).isExact).toBe(true);
    expect((await check(b, { readData: true })).findings).toEqual([]);
  });

  it('keep their chunk ids when the master key is rotated', async () => {
    const file = await newRealm('encrypted');
    const [a, b] = [await newMember('encrypted', file), await newMember('encrypted', file)];
    const source = makeSource();
    await rotateMasterKey(a);
    expect(await idsOf(a, source)).toBe(await idsOf(b, source));
    expect((await check(a)).findings).toEqual([]);
  });

  it('without one are refused with the way out', async () => {
    const alone = newPlace();
    await initRepository(alone, OPTIONS.plain);
    const asserting = withRepository(alone, 'read', async ({ config }) => assertRealm(config));
    await expect(asserting).rejects.toThrow(RefusedError);
    await expect(asserting).rejects.toMatchObject({ advice: { code: 'copy-to-realm' } });
    const file = await newRealm('plain');
    const again = initRepositoryIfMissing(alone, { ...OPTIONS.plain, realm: { file } });
    await expect(again).rejects.toThrow('in no realm');
    const member = await newMember('plain', file);
    expect(await initRepositoryIfMissing(member, { ...OPTIONS.plain, realm: { file } })).toMatchObject({
      isNew: false,
      existing: { isInRealm: true },
    });
  });
});

describe('init', () => {
  it.each<[string, Kind, Kind, string]>([
    ['an encrypted repository in a realm of plain ones', 'plain', 'encrypted', 'choose-plain-realm'],
    ['a plain repository in a realm of encrypted ones', 'encrypted', 'plain', 'choose-encrypted-realm'],
  ])('refuses %s before it asks for a password', async (_, realm, kind, code) => {
    const file = await newRealm(realm, { newPassword: testPassword('of the realm') });
    const password = { ...testPassword('x'), read: async () => Promise.reject(new Error('asked')) };
    const context = newPlace();
    const attempt = initRepository(context, { ...OPTIONS[kind], realm: { file, password } });
    await expect(attempt).rejects.toMatchObject({ code: 'REFUSED', advice: { code } });
    expect(await context.backend.examine()).toMatchObject({ names: [] });
  });

  it('refuses parameters that the realm decides', async () => {
    const realm = { file: await newRealm('plain') };
    const choices: InitOptions[] = [
      { chunker: TINY_CHUNKS },
      { chunkHash: 'sha1' },
      { copyParametersFrom: newPlace() },
    ];
    for (const choice of choices) {
      await expect(initRepository(newPlace(), { ...OPTIONS.plain, ...choice, realm })).rejects.toThrow(UsageError);
    }
  });

  it('opens a sealed realm key file with its own password', async () => {
    const file = await newRealm('encrypted', { newPassword: testPassword('of the realm') });
    const options = OPTIONS.encrypted;
    const context = newPlace();
    await expect(initRepository(context, { ...options, realm: { file } })).rejects.toThrow(NoPasswordError);
    const wrong = { file, password: testPassword('wrong') };
    await expect(initRepository(context, { ...options, realm: wrong })).rejects.toThrow(WrongPasswordError);
    const realm = { file, password: testPassword('of the realm') };
    const [a, b] = [await newMember('encrypted', file, { realm }), await newMember('encrypted', file, { realm })];
    const source = makeSource();
    expect(await idsOf(a, source)).toBe(await idsOf(b, source));
  });

  it('warns if others can read the keys, and only then', async () => {
    const file = await newRealm('plain');
    expect((await newMember('plain', file)).notices).toEqual([]);
    chmodSync(file, 0o640);
    const { notices } = await newMember('plain', file);
    expect(notices).toMatchObject([{ kind: 'realm-file-readable', path: file, mode: 0o640 }]);
    const sealed = await newRealm('plain', { newPassword: testPassword('x') });
    chmodSync(sealed, 0o644);
    const realm = { file: sealed, password: testPassword('x') };
    expect((await newMember('plain', sealed, { realm })).notices).toEqual([]);
  });
});

describe('the realm key file', () => {
  it('is for its owner only, whatever the mask of the process, and replaces nothing', async () => {
    const mask = process.umask(0);
    try {
      const file = await newRealm('encrypted');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const before = readFileSync(file);
      await expect(createRealm({ file })).rejects.toThrow(TargetError);
      expect(readFileSync(file)).toEqual(before);
    } finally {
      process.umask(mask);
    }
  });

  it('has other keys each time', async () => {
    const files = [await newRealm('encrypted'), await newRealm('encrypted')];
    const [a, b] = files.map((file) => decodeRealmKey(readFileSync(file)));
    expect(a!.header.realmId).not.toBe(b!.header.realmId);
    const keys = [a!, b!].flatMap(({ secrets }) => [secrets!.idKey, secrets!.chunkerKey]);
    expect(new Set(keys).size).toBe(4);
  });
});
