import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { TargetError } from '../../../src/core/errors.ts';
import { openDirectoryPath } from '../../../src/core/files/paths/directory-path.ts';
import { LOCKING_FLAGS } from '../../../src/core/files/target/target-attributes.ts';
import type { AttributePolicy } from '../../../src/core/files/target/target-policy.ts';
import { LockedFiles } from '../../../src/verbs/restore/locked-files.ts';
import type { RestoreTally, TalliedStep } from '../../../src/verbs/restore/restore-tally.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

test('a directory that is gone when files are locked is reported, and the others are still locked', () => {
  const top = temporaryDirectory();
  const reported: string[] = [];
  const tally: Pick<RestoreTally, 'report'> = {
    report: ({ name }, error) => {
      expect(error).toBeInstanceOf(TargetError);
      reported.push(name);
    },
  };
  const policy = { sets: true, isPrivileged: true } as AttributePolicy;
  const locked = new LockedFiles(policy, tally as RestoreTally);
  for (const name of ['one', 'other']) {
    mkdirSync(join(top, name));
    writeFileSync(join(top, name, name), '');
    const directory = openDirectoryPath(byteStringFromText(join(top, name)), { side: 'target', hold: 'always' });
    const step = { kind: 'entry', parent: undefined, name, entry: { inodeFlags: LOCKING_FLAGS } };
    locked.note(step as unknown as TalliedStep, directory, true);
    locked.noteDirectory({ ...step, name: `${name}/` } as unknown as TalliedStep, directory);
    directory.close();
    renameSync(join(top, name), join(top, `${name}.moved`));
  }
  locked.setLast();
  expect(reported).toEqual(['one', 'other', 'one/', 'other/']);
});
