import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';
import { ROOT } from './installed-package.ts';

const TEXT = readFileSync(join(ROOT, 'docs', 'library.md'), 'utf8');
const FILES = join(ROOT, 'examples', 'library');

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
  cpSync(FILES, directory, { recursive: true });
  // Whether the declarations themselves are right is a matter of package.test.ts.
  const known = { types: ['node'], skipLibCheck: true };
  const options = { target: 'es2023', module: 'nodenext', strict: true, rootDir: '.', ...known };
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

/**
 * The examples by the process in which they run, one after the other. In the suite, a process goes on to the next example
 * unless one has cancelled what all of them share.
 */
function processes(): string[][] {
  const groups: string[][] = [[]];
  for (const { name, code } of EXAMPLES) {
    groups.at(-1)!.push(name);
    if (inSoak(true, code.includes('controller.abort('))) groups.push([]);
  }
  return groups.filter((names) => names.length > 0);
}

/** Runs the examples in the order of the document: each builds on what those before it have stored. */
function runExamples(): Map<string, string> {
  const outputs = new Map<string, string>();
  for (const names of processes()) {
    // Each output begins with a line that names the example.
    const script = names.map((name) => `console.log('\\n# ${name}'); await import('./${name}.js');`).join('\n');
    const { stdout, stderr, status } = run(process.execPath, '--input-type=module', '--eval', script);
    for (const [, name, output] of stdout.matchAll(/^\n# (.*)\n([^]*?)(?=\n# |(?![^]))/gm)) outputs.set(name!, output!);
    expect({ names, stdout, stderr, status }).toEqual({ names, stdout, stderr: '', status: 0 });
  }
  return outputs;
}

describe('the examples of docs/library.md', () => {
  let diagnostics: string;
  let outputs: ReadonlyMap<string, string>;
  beforeAll(() => {
    diagnostics = compile();
    const [, preparation] = /^```sh\n([^]*?)^```$/m.exec(TEXT) ?? [];
    expect(run('sh', '-ec', preparation!)).toMatchObject({ status: 0, stderr: '' });
    outputs = runExamples();
  });

  it('are modules with different names, and all of the TypeScript in the document', () => {
    const names = EXAMPLES.map(({ name }) => name);
    expect(names).not.toContain('');
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(10);
    expect([...TEXT.matchAll(/^```(?!(?:text|console|sh)?$)/gm)].length).toBe(names.length);
    expect([...TEXT.matchAll(/^```text$/gm)].length).toBe(EXAMPLES.filter(({ output }) => output !== '').length);
  });

  it('are the files of examples/library', () => {
    const files = readdirSync(FILES).map((name) => [name, readFileSync(join(FILES, name), 'utf8')]);
    expect(Object.fromEntries(files)).toEqual(
      Object.fromEntries(EXAMPLES.map(({ name, code }) => [`${name}.ts`, code])),
    );
  });

  it('compile with the declarations of the package', () => {
    expect(diagnostics).toBe('');
  });

  it.each(EXAMPLES)('$name prints what the document says', ({ name, output }) => {
    // The progress, which the example prints once a second, on a busy machine even before the first phase.
    const lasting = outputs.get(name)?.replaceAll(/^[a-z ]*: \d+ of (\d+|\?) files\n/gm, '');
    expect(lasting).toBe(output);
  });
});
