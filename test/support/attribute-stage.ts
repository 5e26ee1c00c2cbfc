import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, onTestFinished } from 'vitest';

import { backup } from '../../src/verbs/backup/backup.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import type { RestoreOptions, RestoreResult } from '../../src/verbs/restore/restore.ts';
import { unlockTree } from './attribute-dump.ts';
import { MemoryBackend } from './memory-backend.ts';
import { temporaryDirectory } from './temp-directory.ts';
import { threadsOfTests } from './test-threads.ts';
import { runTool } from './tools.ts';
import { isRoot } from './unprivileged.ts';

const MIB = 1024 * 1024;

/** A repository, and a source to be saved in it. */
export interface AttributeStage {
  readonly backend: MemoryBackend;
  readonly directory: string;
  readonly source: string;
}

export async function makeStage(): Promise<AttributeStage> {
  const backend = new MemoryBackend();
  await initRepository({ backend });
  const directory = temporaryDirectory();
  onTestFinished(() => unlockTree(directory));
  const source = join(directory, 'tree');
  mkdirSync(source);
  return { backend, directory, source };
}

export async function save({ backend, source }: AttributeStage): Promise<string> {
  const { snapshotId, problems } = await backup(
    { backend, threads: threadsOfTests() },
    { sources: [source], cwd: '/' },
  );
  expect(problems).toEqual([]);
  return snapshotId!;
}

export async function bringBack(stage: AttributeStage, options: Partial<RestoreOptions> = {}): Promise<RestoreResult> {
  const given: RestoreOptions = { selector: 'latest', target: join(stage.directory, 'target'), ...options };
  return await restore({ backend: stage.backend, threads: threadsOfTests() }, given);
}

/** A tree with everything that this user may set, and with what only root may, if we are root. */
export function makeTree({ source }: AttributeStage): void {
  const at = (name: string): string => join(source, name);
  mkdirSync(at('directory/inner'), { recursive: true });
  for (const name of ['small', 'directory/readable', 'directory/inner/x'])
    writeFileSync(at(name), name, { mode: 0o444 });
  writeFileSync(at('large'), Buffer.alloc(MIB, 5));
  writeFileSync(at('sparse'), 'start');
  truncateSync(at('sparse'), 3 * MIB);
  writeFileSync(at('only holes'), '');
  truncateSync(at('only holes'), 20_000);
  runTool('mkfifo', at('fifo'));
  symlinkSync('small', at('link'));
  linkSync(at('small'), at('directory/same'));
  runTool('chmod', 'u+w', ...['small', 'directory/readable'].map(at));
  for (const name of ['small', 'directory/readable', 'large', 'directory', 'sparse']) {
    runTool('setfattr', '-n', 'user.some name', '-v', '0x00ff0a0d', at(name));
    runTool('setfattr', '-n', 'user.empty', at(name));
  }
  runTool('chmod', 'u-w', at('directory/readable'));
  runTool('setfacl', '-m', 'u:65534:rw,g:4321:r', at('small'), at('fifo'), at('directory'));
  runTool('setfacl', '-d', '-m', 'u:65534:rwx', at('directory'));
  runTool('chattr', '+dA', at('large'), at('directory/inner'));
  if (!isRoot) return;
  runTool('mknod', at('device'), 'c', '1', '3');
  runTool('setfattr', '-h', '-n', 'trusted.link', '-v', 'to', at('link'));
  runTool('setfattr', '-n', 'trusted.device', '-v', 'x', at('device'));
  runTool('setcap', 'cap_net_raw+ep', at('large'));
  runTool('chown', '4321:4321', at('large'));
  // The system takes the capability away.
  runTool('setcap', 'cap_net_bind_service,cap_chown+ep', at('large'));
  runTool('chmod', '4755', at('directory/inner/x'));
  runTool('chattr', '+i', at('small'), at('sparse'), at('directory/inner'));
  runTool('chattr', '+a', at('large'));
}
