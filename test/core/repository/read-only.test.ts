import { expect, test } from 'vitest';
import { BackendError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { shownNotice } from '../../support/shown-notice.ts';

/** A repository on a medium that refuses every new file. */
async function readOnlyRepository(errno: 'EROFS' | 'EACCES' | 'EIO'): Promise<FaultyBackend> {
  const inner = new MemoryBackend();
  await initRepository({ backend: inner });
  const only = (operation: string): boolean => operation === 'create';
  return new FaultyBackend(inner, { failAt: 1, mode: 'error', errno, repeat: true, only });
}

test.each(['EROFS', 'EACCES'] as const)(
  'a place that answers %s is read without a lock, and says so',
  async (errno) => {
    const backend = await readOnlyRepository(errno);
    const notices: Notice[] = [];
    const context = { backend, onNotice: (notice: Notice) => void notices.push(notice) };
    expect(await listSnapshots(context)).toEqual([]);
    expect(await check(context)).toMatchObject({ findings: [] });
    backend.assertFired();
    expect(notices.map(shownNotice).map(({ kind, message }) => [kind, message.includes('without a lock')])).toEqual([
      ['warning', true],
      ['warning', true],
    ]);
  },
);

test('any other failure of the lock ends a read, and a compaction never goes on without one', async () => {
  await expect(listSnapshots({ backend: await readOnlyRepository('EIO') })).rejects.toThrow(BackendError);
  await expect(compact({ backend: await readOnlyRepository('EROFS') })).rejects.toThrow(BackendError);
});
