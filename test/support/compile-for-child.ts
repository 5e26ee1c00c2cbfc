import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'rolldown';

const ROOT = join(import.meta.dirname, '..', '..');
const CACHE = join(ROOT, 'node_modules', '.cache');

export interface CompiledProgram {
  /** Of the JavaScript program. */
  readonly path: string;
  remove(): void;
}

/** Compiles a TypeScript program and what it imports, for a child process: Node 20 cannot run TypeScript itself. */
export async function compileForChild(program: string): Promise<CompiledProgram> {
  mkdirSync(CACHE, { recursive: true });
  // Below node_modules, so that the program finds the packages that it imports.
  const output = mkdtempSync(join(CACHE, 'ldm-test-'));
  const imports = { '#task-thread': './task-thread.js' };
  writeFileSync(join(output, 'package.json'), JSON.stringify({ type: 'module', imports }));
  await build({
    input: [program, join(ROOT, 'src/core/workers/task-thread.ts')],
    external: /^[^./]/,
    platform: 'node',
    output: { dir: output },
  });
  return {
    path: join(output, basename(program).replace(/\.ts$/, '.js')),
    remove: () => rmSync(output, { recursive: true, force: true }),
  };
}
