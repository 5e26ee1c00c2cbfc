import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';
import { makeTestRepository } from '../support/test-repository.ts';

it.runIf(process.platform === 'linux')(
  'backup and restore refuse at once to run with too few open files, and say what helps',
  async () => {
    const repository = await makeTestRepository();
    writeFileSync(join(repository.source, 'file'), 'content');
    await repository.backup();
    const target = join(repository.directory, 'target');
    const program = [process.execPath, ldmProgram, '-r', join(repository.directory, 'repository'), '-q'];
    const run = (openFiles: number, ...words: string[]): unknown => {
      const command = ['-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...program, ...words];
      const { status, stderr } = spawnSync('sh', command, { encoding: 'utf8', env: cleanEnvironment({}) });
      return { status, stderr };
    };
    for (const words of [
      ['restore', 'latest', '--target', target],
      ['backup', repository.source],
    ]) {
      expect(run(95, ...words)).toEqual({
        status: 1,
        stderr:
          'ldm: this process may open only 95 files at a time; 96 are needed\n' +
          'Raise the limit (`ulimit -n`), then run the command again.\n',
      });
      expect(existsSync(target)).toBe(false);
    }
    expect(run(96, 'restore', 'latest', '--target', target)).toEqual({ status: 0, stderr: '' });
    expect(existsSync(join(target, 'source', 'file'))).toBe(true);
  },
);
