import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import type { SftpBackend } from '../../../src/places/sftp/sftp-backend.ts';
import { sftpBackend, sftpProblem } from '../../support/sftp-server.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

const BYTES = Buffer.from('some bytes');

/** A backend that has a lock, and the temporary files that it has opened ahead. */
async function backendWithLock(): Promise<{ backend: SftpBackend; temporary: () => string[]; directory: string }> {
  const directory = temporaryDirectory();
  const backend = sftpBackend(directory);
  await backend.prepare(['', 'tmp', 'locks', 'packs']);
  await backend.claim('locks/a', { directories: ['locks'], newFiles: 2 });
  expect((await backend.list('locks')).map(({ name }) => name)).toEqual(['locks/a']);
  // Answered after the requests for the files.
  await backend.sizeOf('packs');
  return { backend, directory, temporary: () => readdirSync(join(directory, 'tmp')) };
}

describe('temporary files that were opened ahead', () => {
  test('are those that are written, and go with the lock', async () => {
    const { backend, temporary } = await backendWithLock();
    const before = temporary();
    expect(before.length).toBe(2);
    const file = await backend.stage();
    await file.append(BYTES);
    await backend.sizeOf('packs');
    expect(temporary()).toEqual(expect.arrayContaining(before));
    expect(temporary().length).toBe(3);
    await file.publish('packs/a');
    expect(Buffer.from(await backend.read('packs/a'))).toEqual(BYTES);
    await backend.release('locks/a');
    expect(temporary()).toEqual([]);
    await backend.close();
  });

  test('are not used once they were removed with this place', async () => {
    const { backend, temporary } = await backendWithLock();
    for (const name of temporary()) await backend.remove(`tmp/${name}`);
    await backend.publish('packs/a', BYTES);
    expect(Buffer.from(await backend.read('packs/a'))).toEqual(BYTES);
    await backend.close();
  });

  test('are not used after the lock was released, as others may have removed them', async () => {
    const { backend, directory, temporary } = await backendWithLock();
    await backend.release('locks/a');
    for (const name of temporary()) rmSync(join(directory, 'tmp', name));
    await backend.claim('locks/b');
    await backend.publish('packs/a', BYTES);
    await backend.publish('packs/b', BYTES);
    await backend.publish('packs/c', BYTES);
    expect((await backend.list('packs')).length).toBe(3);
    await backend.close();
  });
});
