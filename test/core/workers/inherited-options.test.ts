import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { memoryDirectory } from '../../support/temp-directory.ts';

// Another process, since only the built library has threads of its own.
test('threads start in a program whose options suit only its main script', () => {
  const directory = memoryDirectory();
  // Compressible, so that threads compress it.
  writeFileSync(join(directory, 'numbers'), Array.from({ length: 1_500_000 }, (_, index) => index).join('\n'));
  const script = `
    import { LocalBackend, backup, initRepository } from 'ldm-backup';
    const backend = new LocalBackend(${JSON.stringify(join(directory, 'repository'))});
    await initRepository({ backend });
    const { summary } = await backup({ backend }, { sources: [${JSON.stringify(directory)}], exclude: ['repository'], cwd: '/' });
    console.log(summary.dataBlobs > 0);
  `;
  const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(import.meta.dirname, '../../..'),
    encoding: 'utf8',
  });
  expect([child.stderr, child.stdout.trim()]).toEqual(['', 'true']);
});
