import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { PASSWORD, makeEncryptedRepository } from './encrypted-repository.ts';
import { runLdmHere } from './run-ldm-here.ts';
import type { RunLdmResult } from './run-ldm.ts';

const NEW_PASSWORD = 'quite another secret';
const OTHER_PASSWORD = 'neither this one';

interface SecretStage {
  readonly repository: Awaited<ReturnType<typeof makeEncryptedRepository>>;
  /** Everything that must not be shown, by what it is. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly run: (args: readonly string[], env?: Record<string, string | undefined>) => Promise<RunLdmResult>;
}

/** A repository whose passwords are in the files `password`, `new` and `other`. */
export async function setSecretStage(): Promise<SecretStage> {
  const repository = await makeEncryptedRepository();
  const { directory, place, masterKey } = repository;
  const files = { password: PASSWORD, new: NEW_PASSWORD, other: OTHER_PASSWORD };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), `${text}\n`, { mode: 0o600 });
  mkdirSync(join(directory, 'work'));
  writeFileSync(join(directory, 'work', 'notes'), 'notes');
  const key = Buffer.from(masterKey.bytes);
  const secrets = new Map([
    ...Object.entries(files),
    ['the master key in hex', key.toString('hex')],
    ['the master key in base64', key.toString('base64').slice(0, -1)],
    ['the master key in latin1', key.toString('latin1')],
  ]);
  const run: SecretStage['run'] = async (args, env = {}) =>
    await runLdmHere(args, { cwd: directory, env: { LDM_REPOSITORY: place, LDM_PASSWORD_FILE: 'password', ...env } });
  return { repository, secrets, run };
}

/** Which of the secrets a text shows. */
export function secretsIn(text: string, secrets: SecretStage['secrets']): string[] {
  return [...secrets].filter(([, secret]) => text.includes(secret)).map(([what]) => what);
}

/** Commands that handle secrets, in an order in which each succeeds. */
export const WELL: readonly string[][] = [
  ['backup', 'work'],
  ['snapshots'],
  ['check', '--read-data'],
  ['check', '--no-key'],
  ['stats'],
  ['key', 'list'],
  ['key', 'add', '--new-password-file', 'new', '--label', 'laptop'],
  ['copy', '--to', 'copy', '--to-password-file', 'other'],
  ['key', 'passwd', '--password-file', 'new', '--new-password-file', 'other'],
  ['compact', '--reseal'],
];
