import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { textOf } from '../../../src/core/util/byte-string.ts';
import type { TestRepository } from '../../support/test-repository.ts';

/** Writes files of different contents, and the directories above them. Returns their paths. */
export function writeFiles(directory: string, ...names: readonly string[]): string[] {
  return names.map((name) => {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `content of ${name}`);
    return path;
  });
}

/** The paths of everything in the newest snapshot, or of its files only. */
export async function listPaths(
  { context }: TestRepository,
  { files = false }: { readonly files?: boolean } = {},
): Promise<string[]> {
  const paths: string[] = [];
  await listFiles(context, { selector: 'latest', recursive: true }, ({ path, entry }) => {
    if (!files || entry.type === 'file') paths.push(textOf(path));
  });
  return paths;
}
