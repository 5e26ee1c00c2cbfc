import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { CorruptDataError } from '../../../src/core/errors.ts';
import { CoordinatorError } from '../../../src/realm/coordination/realm-errors.ts';
import { DirectoryCoordinator } from '../../../src/realm/coordination/directory-coordinator.ts';
import { planeBaseName } from '../../../src/realm/planes/plane-names.ts';
import { RealmRecords, createRealmKeys } from '../../../src/realm/coordination/realm-records.ts';
import { SharedFiles } from '../../../src/realm/coordination/shared-files.ts';
import { describeCoordinator } from '../../contracts/coordinator-contract.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const POLL_MS = 5;
const DOMAIN = 'ab'.repeat(32);

describeCoordinator('a directory', async () => {
  const directory = memoryDirectory();
  return async () => new DirectoryCoordinator(directory, { pollMs: POLL_MS });
});

it('a directory that is not there is an error, not an empty realm', async () => {
  const coordinator = new DirectoryCoordinator(join(memoryDirectory(), 'unmounted'), { pollMs: POLL_MS });
  await expect(coordinator.list('members')).rejects.toThrow(CoordinatorError);
  await expect(coordinator.write('members', DOMAIN, Buffer.from('a'), undefined)).rejects.toThrow(CoordinatorError);
});

it('a directory that vanishes and comes back is a change', async () => {
  const directory = memoryDirectory();
  const place = join(directory, 'realm');
  mkdirSync(place);
  const coordinator = new DirectoryCoordinator(place, { pollMs: POLL_MS });
  await coordinator.write('members', DOMAIN, Buffer.from('a'), undefined);
  let changes = 0;
  let wake: () => void = () => undefined;
  const end = await coordinator.watch(() => {
    changes += 1;
    wake();
  });
  for (const [from, to] of [
    [place, join(directory, 'away')],
    [join(directory, 'away'), place],
  ] as const) {
    const before = changes;
    const changed = new Promise<void>((resolve) => (wake = resolve));
    renameSync(from, to);
    await changed;
    expect(changes).toBeGreaterThan(before);
  }
  expect(await coordinator.list('members')).toEqual([DOMAIN]);
  end();
  await coordinator.close();
});

it('a writer that was suspended before its file appeared does not win after others have gone on', async () => {
  const directory = memoryDirectory();
  const other = new DirectoryCoordinator(directory, { pollMs: POLL_MS });
  const first = (await other.write('state', DOMAIN, Buffer.from('1'), undefined))!;
  let wasSuspended = false;
  class SuspendedFiles extends SharedFiles {
    override writeNew(name: string, bytes: Uint8Array): boolean {
      // Meanwhile, others write two versions and remove the one that this writer is about to write.
      for (const version of [first + 1, first + 2]) super.writeNew(`state/${DOMAIN}.${version}`, Buffer.from('other'));
      for (const version of [first, first + 1]) this.remove(`state/${DOMAIN}.${version}`);
      wasSuspended = true;
      return super.writeNew(name, bytes);
    }
  }
  const late = new DirectoryCoordinator(directory, { pollMs: POLL_MS, files: new SuspendedFiles(directory) });
  expect(await late.write('state', DOMAIN, Buffer.from('late'), first)).toBeUndefined();
  expect(wasSuspended).toBe(true);
  expect(Buffer.from((await other.read('state', DOMAIN))!.bytes).toString()).toBe('other');
  expect((await other.read('state', DOMAIN))!.version).toBe(first + 2);
});

it('keeps plane files of each domain by name', async () => {
  const { planes } = new DirectoryCoordinator(memoryDirectory(), { pollMs: POLL_MS });
  const name = planeBaseName(1, 1);
  expect(await planes.names(DOMAIN)).toEqual([]);
  expect(await planes.writeNew(DOMAIN, name, Buffer.from('plane'))).toBe(true);
  expect(await planes.writeNew(DOMAIN, name, Buffer.from('again'))).toBe(false);
  expect(await planes.names(DOMAIN)).toEqual([name]);
  expect(await planes.names('cd'.repeat(32))).toEqual([]);
  expect(Buffer.from((await planes.read(DOMAIN, name, 100))!).toString()).toBe('plane');
  await expect(planes.read(DOMAIN, name, 4)).rejects.toThrow(CorruptDataError);
  await planes.remove(DOMAIN, name);
  await planes.remove(DOMAIN, name);
  expect(await planes.read(DOMAIN, name, 100)).toBeUndefined();
});

it('an older record does not come back when a removal is interrupted', async () => {
  const directory = memoryDirectory();
  const files = new SharedFiles(directory);
  // A writer has ended before it removed the first one.
  for (const version of [1, 2]) files.writeNew(`state/${DOMAIN}.${version}`, Buffer.from(String(version)));
  class InterruptedFiles extends SharedFiles {
    #isFirst = true;

    override remove(name: string): void {
      if (!this.#isFirst) throw new CoordinatorError('interrupted');
      this.#isFirst = false;
      super.remove(name);
    }
  }
  const interrupted = new DirectoryCoordinator(directory, { files: new InterruptedFiles(directory) });
  await expect(interrupted.remove('state', DOMAIN)).rejects.toThrow('interrupted');
  const coordinator = new DirectoryCoordinator(directory);
  expect(Buffer.from((await coordinator.read('state', DOMAIN))!.bytes).toString()).toBe('2');
  await coordinator.remove('state', DOMAIN);
  expect(await coordinator.list('state')).toEqual([]);
});

it.each([0, 1, 2])('a domain can be forgotten again when that was interrupted after %i records', async (count) => {
  const directory = memoryDirectory();
  const realmId = 'cd'.repeat(32);
  const keys = createRealmKeys('ef'.repeat(32), realmId);
  const coordinator = new DirectoryCoordinator(directory);
  const records = new RealmRecords(coordinator, realmId, keys);
  const state = { generation: 1, sequence: 1, positions: 64, hashes: 3, liveCount: 0, checksum: 'ab'.repeat(32) };
  await records.writeMember(DOMAIN, { name: 'a', host: 'here', place: '/a' }, undefined);
  await records.writeState(DOMAIN, state, undefined);
  await records.announce(DOMAIN, { kind: 'socket', path: '/a.sock', host: 'here' });
  const removing = coordinator.remove.bind(coordinator);
  let left = count;
  coordinator.remove = async (kind, domainId) => {
    if (left === 0) throw new CoordinatorError('interrupted');
    left -= 1;
    await removing(kind, domainId);
  };
  await expect(records.remove(DOMAIN)).rejects.toThrow('interrupted');
  expect([...(await records.members()).members.keys()]).toEqual([DOMAIN]);
  coordinator.remove = removing;
  await records.remove(DOMAIN);
  for (const kind of ['members', 'live', 'state'] as const) expect(await coordinator.list(kind)).toEqual([]);
});
