import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const CACHE = join(ROOT, 'node_modules', '.cache');
const OPTIONS =
  '--ignoreConfig --noCheck --target es2023 --module nodenext --types node --rewriteRelativeImportExtensions'.split(
    ' ',
  );

export interface CompiledProgram {
  /** Of the JavaScript program. */
  readonly path: string;
  remove(): void;
}

/** Compiles a TypeScript program and what it imports, for a child process: Node 20 cannot run TypeScript itself. */
export function compileForChild(program: string): CompiledProgram {
  mkdirSync(CACHE, { recursive: true });
  // Below node_modules, so that the program finds the packages that it imports.
  const output = mkdtempSync(join(CACHE, 'ldm-test-'));
  const imports = { '#task-thread': './src/workers/task-thread.js' };
  writeFileSync(join(output, 'package.json'), JSON.stringify({ type: 'module', imports }));
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const programs = [program, join(ROOT, 'src', 'workers', 'task-thread.ts')];
  execFileSync(process.execPath, [compiler, ...OPTIONS, '--rootDir', ROOT, '--outDir', output, ...programs], {
    cwd: dirname(program),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return {
    path: join(output, relative(ROOT, program).replace(/\.ts$/, '.js')),
    remove: () => rmSync(output, { recursive: true, force: true }),
  };
}
