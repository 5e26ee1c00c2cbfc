import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeTemporaryDirectory } from '../support/temp-directory.ts';
import { ROOT } from './installed-package.ts';

const TEXT = readFileSync(join(ROOT, 'docs', 'library.md'), 'utf8');

interface Example {
  /** Without its suffix. */
  readonly name: string;
  readonly code: string;
  /** What the document says that it prints. */
  readonly output: string;
}

/** Each example is a module with its name in the first line; its output is the block of text that follows, if any. */
const EXAMPLES: readonly Example[] = [...TEXT.matchAll(/^```ts\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm)].map(
  ([, code, output = '']) => ({ name: /^\/\/ (\S+)\.ts\n/.exec(code!)?.[1] ?? '', code: code!, output }),
);

const directory = makeTemporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function compile(): string {
  const modules = join(directory, 'node_modules');
  mkdirSync(modules);
  symlinkSync(ROOT, join(modules, 'ldm-backup'));
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(modules, '@types'));
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  for (const { name, code } of EXAMPLES) writeFileSync(join(directory, `${name}.ts`), code);
  const options = { target: 'es2023', module: 'nodenext', strict: true, types: ['node'], rootDir: '.' };
  const files = EXAMPLES.map(({ name }) => `${name}.ts`);
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  return spawnSync(process.execPath, [compiler, '-p', directory], { encoding: 'utf8' }).stdout;
}

/** In the directory of the examples, with a home directory of its own. */
function run(command: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(command, args, {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: directory, LDM_PASSWORD: 'correct horse' },
  });
}

describe('the examples of docs/library.md', () => {
  let diagnostics: string;
  beforeAll(() => {
    diagnostics = compile();
    const [, preparation] = /^```sh\n([^]*?)^```$/m.exec(TEXT) ?? [];
    expect(run('sh', '-ec', preparation!)).toMatchObject({ status: 0, stderr: '' });
  });

  it('are modules with different names, and all of the TypeScript in the document', () => {
    const names = EXAMPLES.map(({ name }) => name);
    expect(names).not.toContain('');
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(10);
    expect([...TEXT.matchAll(/^```(?!(?:text|console|sh)?$)/gm)].length).toBe(names.length);
    expect([...TEXT.matchAll(/^```text$/gm)].length).toBe(EXAMPLES.filter(({ output }) => output !== '').length);
  });

  it('compile with the declarations of the package', () => {
    expect(diagnostics).toBe('');
  });

  // In the order of the document: each builds on what those before it have stored.
  it.each(EXAMPLES)('$name prints what the document says', ({ name, output }) => {
    const { stdout, ...rest } = run(process.execPath, `${name}.js`);
    // The progress, which the example prints once a second, on a busy machine even before the first phase.
    const lasting = stdout.replaceAll(/^[a-z ]*: \d+ of (\d+|\?) files\n/gm, '');
    expect({ ...rest, stdout: lasting }).toMatchObject({ stdout: output, stderr: '', status: 0 });
  });
});
