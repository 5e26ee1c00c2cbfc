import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { openDirectoryPath } from '../../../../src/core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../../../src/core/files/paths/directory-path.ts';
import { heldDirectoryCount } from '../../../../src/core/files/paths/held-directories.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { replaceCall } from '../../../support/replaced-call.ts';
import { temporaryDirectory } from '../../../support/temp-directory.ts';
import { bytes } from '../sample-entry.ts';

const calls = { openCount: 0 };

beforeEach(() => {
  replaceCall('openSync', (openSync) => (...given) => {
    calls.openCount += 1;
    return openSync(...given);
  });
});

const DEPTH = 300;
/** How many directories are opened at most to return to any of them. */
const OPENED_MAX = 64;

/** Makes directories in each other and holds all of them. */
function enterMany(): readonly DirectoryPath[] {
  const top = temporaryDirectory();
  mkdirSync(join(top, ...Array<string>(DEPTH).fill('d')), { recursive: true });
  const walk = [openDirectoryPath(byteStringFromText(top), { side: 'target', hold: 'always' })];
  for (let entered = 0; entered < DEPTH; entered += 1) walk.push(walk.at(-1)!.enter(bytes('d')));
  expect(heldDirectoryCount()).toBe(DEPTH + 1);
  return walk;
}

describe.runIf(process.platform === 'linux')('after most directories of a deep walk were closed', () => {
  it.each(['restOuter', 'restAll'] as const)('by %s, few have to be opened to return to any of them', (rest) => {
    const walk = enterMany();
    for (const index of [250, 190, 130, 60, 10]) {
      walk.at(-1)!.childPath(bytes('x'));
      walk.at(-1)![rest]();
      expect(heldDirectoryCount()).toBeLessThan(50);
      calls.openCount = 0;
      walk[index]!.childPath(bytes('x'));
      expect(calls.openCount).toBeGreaterThan(0);
      expect(calls.openCount).toBeLessThanOrEqual(OPENED_MAX);
    }
    for (const directory of walk) directory.close();
    expect(heldDirectoryCount()).toBe(0);
  });
});
