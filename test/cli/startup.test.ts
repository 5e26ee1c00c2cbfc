import { readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

import { runLdm } from '../support/run-ldm.ts';

const root = join(import.meta.dirname, '..', '..');

/** Every file and package that a file imports before its first statement runs, with what those import. */
function staticImports(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const imports = /(?:^|[;}])import\b(?!\s+type\b)[^'"`;(]*?(?:from\s*)?['"]([^'"]+)['"]/gm;
  for (const [, specifier] of readFileSync(file, 'utf8').matchAll(imports)) {
    if (specifier!.startsWith('.')) staticImports(join(dirname(file), specifier!), seen);
    else seen.add(specifier!);
  }
  return seen;
}

describe('start-up', () => {
  it('loads next to nothing before it knows that more than the version is wanted', () => {
    const names = [...staticImports(join(root, 'src/cli/main.ts'))].map((name) => relative(root, name));
    expect(names.toSorted()).toEqual([
      'node:fs',
      'src/cli/exit.ts',
      'src/cli/main.ts',
      'src/cli/missing-part.ts',
      'src/console/exit-codes.ts',
      'src/console/signals.ts',
      'src/console/version.ts',
      'src/core/errors.ts',
      'src/core/util/version.ts',
    ]);
  });

  it('loads next to nothing of what was built, either', () => {
    const files = [...staticImports(join(root, 'dist/cli/main.js'))].filter((name) => name.startsWith('/'));
    expect(files.length).toBeGreaterThan(2);
    expect(files.reduce((sum, file) => sum + statSync(file).size, 0)).toBeLessThan(16 * 1024);
  });

  it('loads only commander before a command runs', () => {
    const packages = [...staticImports(join(root, 'src/cli/program.ts'))].filter(
      (name) => !name.startsWith('/') && !name.startsWith('node:'),
    );
    expect(packages).toEqual(['commander']);
  });

  it('prints the version of the package', async () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect((await runLdm(['version'])).stdout).toContain(`ldm ${manifest.version} `);
  });
});
