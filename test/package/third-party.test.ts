import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import type { OutputOptions, RolldownOptions } from 'rolldown';
import { loadConfig } from 'rolldown/config';
import { describe, expect, it } from 'vitest';

import { ROOT } from './installed-package.ts';

const DOCUMENT = join(ROOT, 'docs', 'third-party.md');
const INTRODUCTION = `# Third-party code in the program

The build bundles parts of these packages. Their licenses follow. All other libraries are dependencies of the package and have their own.

<!-- What follows is made of the bundled packages by \`npm run docs\`. -->
`;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  /** An old form. */
  readonly licenses?: readonly { readonly type: string }[];
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** The folders of the packages whose code is in what the build makes. */
async function bundledFolders(): Promise<string[]> {
  const [program] = (await loadConfig(join(ROOT, 'rolldown.config.js'))) as RolldownOptions[];
  const build = await rolldown({ ...program!, cwd: ROOT });
  const { output } = await build.generate(program!.output as OutputOptions);
  await build.close();
  const modules = output.flatMap((part) => (part.type === 'chunk' ? Object.keys(part.modules) : []));
  const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]);
  return [...new Set(folders.filter((folder) => folder !== undefined))].toSorted();
}

function licenseOf(folder: string): { readonly id: string; readonly text: string } {
  const { license, licenses } = manifestIn(folder);
  const id = license ?? licenses?.[0]?.type;
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  assert(id !== undefined && file !== undefined, `${folder} has no license`);
  return { id, text: readFileSync(join(folder, file), 'utf8').trim().replace(/\r\n/g, '\n') };
}

/** Each text once: packages of one author have the same. */
function sections(folders: readonly string[]): string[] {
  const byText = new Map<string, { id: string; packages: string[] }>();
  for (const folder of folders) {
    const { name, version } = manifestIn(folder);
    const { id, text } = licenseOf(folder);
    const section = byText.get(text) ?? { id, packages: [] };
    section.packages.push(`${name} ${version}`);
    byText.set(text, section);
  }
  return [...byText].map(
    ([text, { id, packages }]) =>
      `\n## ${packages.toSorted().join(', ')}\n\nLicense: ${id}\n\n\`\`\`\`text\n${text}\n\`\`\`\`\n`,
  );
}

describe('the packages that the build bundles', async () => {
  const folders = await bundledFolders();

  it('are in docs/third-party.md with their versions and licenses, and no others', async () => {
    const names = folders.map((folder) => manifestIn(folder).name);
    expect(names).toContain('hash-wasm');
    await expect(`${INTRODUCTION}${sections(folders).join('')}`).toMatchFileSnapshot(DOCUMENT);
  });

  it('have one exact version in package.json, and an installation does not have them once more', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    for (const folder of folders) {
      const { name, version } = manifestIn(folder);
      expect(dependencies).not.toHaveProperty([name]);
      const isOurs = folder === join(ROOT, 'node_modules', name);
      if (isOurs && name in devDependencies) expect(devDependencies[name], name).toBe(version);
    }
  });
});
