import { openNodeZstd } from '../../src/core/workers/node-zstd.ts';
import { openPackagedZstd } from '../../src/core/workers/packaged-zstd.ts';
import { openSystemZstd } from '../../src/core/workers/system-zstd.ts';
import type { Zstd } from '../../src/core/workers/zstd-frame.ts';

/** Runs wherever the tests run, so that frames for a test can come from it. */
export const packagedZstd: Zstd = loaded(openPackagedZstd());

/** Every implementation that this machine has, for contract tests. test/core/workers/zstd.test.ts says which must be among them. */
export const zstdImplementations: readonly (readonly [name: string, zstd: Zstd])[] = [
  ...named('node', openNodeZstd()),
  ...named('system', openSystemZstd()),
  ['packaged', packagedZstd],
];

function loaded(zstd: Zstd | undefined): Zstd {
  if (zstd === undefined) throw new Error('@toondepauw/node-zstd is not installed; run `npm ci`');
  return zstd;
}

function named(name: string, zstd: Zstd | undefined): [string, Zstd][] {
  return zstd === undefined ? [] : [[name, zstd]];
}
