import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Returns the lines of src/index.ts that follow from the verbs: all that their folders offer to programs. */
export function verbExports(src: string): string {
  const files = [...verbLibraries(src).values()].filter((file) => file !== undefined);
  return files
    .toSorted()
    .map((file) => `export * from './${file}';\n`)
    .join('');
}

/**
 * By the folder of each verb in `cli/verbs.ts`, the file that has what it offers: its `library.ts`, or, where there is none,
 * the operation with the name of the folder. Undefined if it has neither.
 */
export function verbLibraries(src: string): Map<string, string | undefined> {
  const registered = readFileSync(join(src, 'cli/verbs.ts'), 'utf8');
  const commands = registered.matchAll(/from '\.\.\/([^']*)\/[\w-]*command\.ts'/g);
  return new Map([...commands].map(([, folder]) => [folder!, libraryOf(src, folder!)]));
}

function libraryOf(src: string, folder: string): string | undefined {
  const files = [`${folder}/library.ts`, `${folder}/${basename(folder)}.ts`];
  return files.find((file) => existsSync(join(src, file)));
}
