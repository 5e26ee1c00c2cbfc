import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { WELL, secretsIn, setSecretStage } from '../support/secret-stage.ts';
import { inSoak } from '../support/soak.ts';

/** Takes a heap snapshot when the program has closed everything and ends. Reads a file into the heap before that. */
const PRELOAD = `
const { writeHeapSnapshot } = require('node:v8');
globalThis.kept = require('node:fs').readFileSync(process.env.TEST_KEEP, 'utf8');
process.on('exit', () => writeHeapSnapshot(process.env.TEST_SNAPSHOT));
`;

test('no password and no master key is in the heap when everything is closed', async () => {
  const { run, secrets, repository } = await setSecretStage();
  const preload = join(repository.directory, 'preload.cjs');
  writeFileSync(preload, PRELOAD);
  // What is kept on purpose is found, so the others would be, too.
  const kept = 'kept on purpose';
  writeFileSync(join(repository.directory, 'kept'), kept);
  const snapshot = join(repository.directory, 'heap');
  const env = { NODE_OPTIONS: `--require ${preload}`, TEST_SNAPSHOT: snapshot, TEST_KEEP: 'kept' };
  for (const args of WELL.filter(([command]) => command === 'backup' || command === 'key')) {
    // The others handle no more secrets than these.
    const isInspected = inSoak(true, args[0] === 'backup' || args[1] === 'passwd');
    const { code, stderr } = await run(args, isInspected ? env : {});
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    if (!isInspected) continue;
    const found = secretsIn(readFileSync(snapshot, 'latin1'), new Map([...secrets, ['kept', kept]]));
    expect({ args, found }).toEqual({ args, found: ['kept'] });
    rmSync(snapshot);
  }
});
