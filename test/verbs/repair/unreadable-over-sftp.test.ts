import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { isCommitName } from '../../../src/core/format/layout.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { sftpBackend, sftpProblem } from '../../support/sftp-server.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';

/** A file that can be opened and not read, as on a disk with bad sectors. */
const UNREADABLE = '/proc/self/mem';

test.skipIf(sftpProblem !== undefined).each(['snapshots', 'manifests.bak', 'index'])(
  'a file in %s that a server cannot read ends neither repair nor check, and stays',
  async (directory) => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'content');
    const { snapshotId } = await repository.backup();
    const place = join(repository.directory, 'repository');
    const files = filesOf(repository, directory).map((file) => `${directory}/${file}`);
    const name = files.find((each) => !isCommitName(each))!;
    renameSync(join(place, name), join(repository.directory, 'sound'));
    symlinkSync(UNREADABLE, join(place, name));
    const context = { ...repository.context, backend: sftpBackend(place) };
    expect((await check(context)).findings).not.toEqual([]);
    const { remaining } = await repair(context);
    if (directory === 'manifests.bak') expect((await listSnapshots(context)).map(({ id }) => id)).toEqual([snapshotId]);
    expect(JSON.stringify(remaining)).toMatch(/cannot read it, as on a failing disk \(EIO\)/);
    expect(filesOf(repository, 'quarantine')).toEqual([]);
    renameSync(join(repository.directory, 'sound'), join(place, name));
    await repository.expectClean();
    await context.backend.close();
  },
);

test.skipIf(sftpProblem !== undefined)('a configuration that a server cannot read is read from its copy', async () => {
  const repository = await makeTestRepository();
  const place = join(repository.directory, 'repository');
  renameSync(join(place, 'config'), join(repository.directory, 'sound'));
  symlinkSync(UNREADABLE, join(place, 'config'));
  const context = { ...repository.context, backend: sftpBackend(place) };
  expect(await listSnapshots(context)).toEqual([]);
  await context.backend.close();
});
