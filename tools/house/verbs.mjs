import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The tracked files that name a verb and are neither in its folder, nor tests, nor texts about it. */
export function placesOfVerb(root, verb) {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }).split('\n');
  const pattern = new RegExp(
    `['/]${verb}\\.ts'|/${verb}/|ldm-${verb}\\.1|\\b${verb}-report|\\bldm ${verb}\`? *\\||"${verb}\\.json"|'${verb}'`,
  );
  return files
    .filter((path) => /^(src|docs\/schemas)\/|^(package\.json|README\.md|docs\/json\.md)$/.test(path))
    .filter((path) => !path.includes(`/verbs/${verb}/`))
    .filter((path) => path === `docs/schemas/${verb}.json` || pattern.test(readFileSync(join(root, path), 'utf8')));
}
