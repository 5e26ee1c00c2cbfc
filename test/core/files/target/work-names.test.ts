import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { removeAbandonedWork, setAsideName, temporaryName } from '../../../../src/core/files/target/work-names.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';

/** The name that another process would have used. */
function nameOf(pid: number): string {
  return temporaryName().replace(/^\.ldm-restore-[0-9a-z]+/, `.ldm-restore-${pid.toString(36)}`);
}

it('removes the temporary files of processes that have ended, and nothing else', () => {
  const directory = temporaryDirectory();
  const endedPid = spawnSync(process.execPath, ['-e', '']).pid;
  const ended = [nameOf(endedPid), nameOf(endedPid)];
  const saved = nameOf(endedPid);
  const elsewhere = nameOf(endedPid).replace(/_[0-9a-f]{8}_/, '_00000000_');
  const elsewhen = elsewhere.replace(/_[0-9a-f]{8}_[0-9a-z]+_/, '_11111111_2_');
  const kept = [
    saved,
    temporaryName(),
    nameOf(process.ppid),
    elsewhere,
    elsewhen,
    setAsideName().replace(/[0-9a-z]+_/, `${endedPid.toString(36)}_`),
    '.ldm-restore-',
    '.ldm-restore-notes.txt',
    'file',
  ];
  for (const name of [...kept, ended[0]!]) {
    writeFileSync(join(directory, name), '');
    // The time of the last change counts, which cannot be set.
    utimesSync(join(directory, name), 1, 1);
  }
  symlinkSync('file', join(directory, ended[1]!));
  const setAside = nameOf(endedPid);
  mkdirSync(join(directory, setAside));
  removeAbandonedWork(byteStringFromText(directory), (name) => name === saved);
  expect(readdirSync(directory).toSorted()).toEqual([...kept, setAside].toSorted());
});
