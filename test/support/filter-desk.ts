import { spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { runLdmHere } from './run-ldm-here.ts';
import { ldmProgram, type RunLdmOptions, type RunLdmResult } from './run-ldm.ts';
import { memoryDirectory } from './temp-directory.ts';

/** A filter that Guava wrote, of the strings chunk-0 to chunk-999. */
export const GUAVA_FILE: string = join(import.meta.dirname, '../../fixtures/guava/utf8-1000-0.01.bin');

/** A directory of its own for filters of keys. */
export interface FilterDesk {
  readonly directory: string;
  readonly write: (name: string, content: string | Uint8Array) => void;
  /** Runs `ldm filter`. */
  readonly filter: (words: readonly string[], options?: RunLdmOptions) => Promise<RunLdmResult>;
  /** The same in a process, for outputs that are no text. */
  readonly filterBytes: (words: readonly string[], input?: string | Uint8Array) => SpawnSyncReturns<Buffer>;
  /** Runs this command of a shell, in which `ldm-filter` is `ldm filter`. */
  readonly shell: (command: string) => SpawnSyncReturns<string>;
  /** Makes `fruit`, with three lines, and `fruit.ldm`, which has no false positive that a test would find. */
  readonly makeFruit: () => Promise<void>;
}

export function makeFilterDesk(): FilterDesk {
  const directory = memoryDirectory();
  const env = { ...process.env, HOME: directory };
  const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(directory, name), content);
  const filter = async (words: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> =>
    await runLdmHere(['filter', ...words], { cwd: directory, ...options });
  return {
    directory,
    write,
    filter,
    filterBytes: (words, input = '') =>
      spawnSync(process.execPath, [ldmProgram, 'filter', ...words], { cwd: directory, env, input }),
    shell: (command) => {
      const script = command.replaceAll('ldm-filter', `"${process.execPath}" "${ldmProgram}" filter`);
      return spawnSync('sh', ['-c', script], { cwd: directory, env, encoding: 'utf8', timeout: 60_000 });
    },
    makeFruit: async () => {
      write('fruit', 'apple\npear\nplum\n');
      expect(await filter(['make', 'fruit', '-o', 'fruit.ldm', '--fpr', '1e-9'])).toMatchObject({
        code: 0,
        stderr: '',
      });
    },
  };
}
