import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { WELL, secretsIn, setSecretStage } from '../support/secret-stage.ts';
import { inSoak } from '../support/soak.ts';

const BADLY = [
  ['--password-file', 'other', 'snapshots'],
  ['--password-command', 'cat other', 'backup', 'work'],
  ['--password-command', 'sh -c "cat password; exit 3"', 'snapshots'],
  ['key', 'add', '--new-password-file', 'password'],
  ['key', 'passwd', '--new-password-file', 'work'],
  ['key', 'import', 'password'],
  ['key', 'test', 'password'],
];

test('no message, with or without --json and -v, has a password or the master key', async () => {
  const ways = [['-vv'], ['-v', '--json']];
  // In the suite, the commands take turns.
  for (const chosen of inSoak(
    ways.map((options) => [options]),
    [ways],
  )) {
    const { run, secrets } = await setSecretStage();
    await run(['init', '-r', 'copy'], { LDM_PASSWORD_FILE: 'other' });
    for (const [index, args] of [...BADLY, ...WELL].entries()) {
      const { code, stdout, stderr } = await run([...chosen[index % chosen.length]!, ...args]);
      expect({ args, isDone: code === 0, stderr }).toMatchObject({ args, isDone: WELL.includes(args) });
      expect({ args, shown: secretsIn(stdout + stderr, secrets) }).toEqual({ args, shown: [] });
    }
  }
});

test('a failure that nobody has foreseen shows no secret either', async () => {
  const { run, secrets, repository } = await setSecretStage();
  await run(['backup', 'work']);
  for (const name of ['config', 'config.bak', `keys/${repository.keyId}`]) {
    const path = join(repository.place, name);
    const bytes = readFileSync(path);
    for (let position = 0; position < bytes.length; position += Math.ceil(bytes.length / 4)) {
      const damaged = Buffer.from(bytes);
      damaged[position]! ^= 0x20;
      writeFileSync(path, damaged);
      const { stdout, stderr } = await run(['-vv', 'check']);
      expect({ name, position, shown: secretsIn(stdout + stderr, secrets) }).toEqual({ name, position, shown: [] });
    }
    writeFileSync(path, bytes);
  }
});
