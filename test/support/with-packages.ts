import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Module } from 'node:module';
import { join } from 'node:path';
import zlib from 'node:zlib';

import { onTestFinished } from 'vitest';

import { closeZstd } from '../../src/core/workers/zstd.ts';
import type { Scenario } from '../cli/scenario.ts';
import type { RunLdmResult } from './run-ldm.ts';

/** In place of a package: one that cannot be loaded. */
export const GONE = "(() => { throw new Error('gone'); })()";

/** Takes zstd away from Node 22.15 and later, so that it finds as little as Node 20. */
export const WITHOUT_NODE_ZSTD = "delete require('node:zlib').zstdCompressSync;";

export interface ChangedProgram {
  readonly run: (...args: readonly string[]) => Promise<RunLdmResult>;
  /** What the replacements have reported, one line each. */
  readonly reports: () => string[];
}

/**
 * Runs the program, with all of its threads, with other packages than are installed. A replacement is a JavaScript
 * expression; `original()` in it loads the installed package, and `report(text)` writes a line. Loading a replaced
 * package reports its name. `prelude` runs first.
 */
export function withPackages(
  scenario: Scenario,
  packages: Readonly<Record<string, string>>,
  prelude = '',
): ChangedProgram {
  const log = join(scenario.directory, 'reports.log');
  const hook = join(scenario.directory, 'hook.cjs');
  const cases = Object.entries(packages).map(
    ([name, value]) => `if (name === '${name}') { report(name); return ${value}; }`,
  );
  writeFileSync(
    hook,
    `${prelude}
     const Module = require('node:module');
     const load = Module._load;
     const report = (text) => require('node:fs').appendFileSync(${JSON.stringify(log)}, text + '\\n');
     Module._load = function (name, ...rest) {
       const original = () => load.call(this, name, ...rest);
       ${cases.join('\n')}
       return original();
     };`,
  );
  return {
    run: async (...args) => await scenario.run(args, { env: { NODE_OPTIONS: `--require ${hook}` } }),
    reports: () => (existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []),
  };
}

/** Takes packages away from this process, as `GONE` does from a started one, until the test ends. */
export function withoutPackagesHere(...names: readonly string[]): void {
  const loader = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown };
  const { _load: load } = loader;
  onTestFinished(() => {
    loader._load = load;
  });
  loader._load = (name, ...rest) => {
    if (names.includes(name)) throw new Error('gone');
    return load(name, ...rest);
  };
}

/** The same for every zstd. */
export function withoutZstdHere(): void {
  withoutPackagesHere('koffi', '@toondepauw/node-zstd');
  const zstdOfNode = Object.getOwnPropertyDescriptor(zlib, 'zstdCompressSync');
  onTestFinished(() => {
    if (zstdOfNode !== undefined) Object.defineProperty(zlib, 'zstdCompressSync', zstdOfNode);
  });
  Reflect.deleteProperty(zlib, 'zstdCompressSync');
  // One that was opened before would still be used.
  closeZstd();
}
