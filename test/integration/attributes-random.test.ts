import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { expect } from 'vitest';

import { nativeCalls } from '../../src/core/files/native/native.ts';
import { byteStringFromBytes, byteStringFromText, fsPath, joinPath } from '../../src/core/util/byte-string.ts';
import type { ByteString } from '../../src/core/util/byte-string.ts';
import { NO_ATTRIBUTE_TOOLS, dumpAttributes } from '../support/attribute-dump.ts';
import { bringBack, makeStage, save } from '../support/attribute-stage.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { createPrng } from '../support/prng.ts';
import type { Prng } from '../support/prng.ts';
import { testProperty } from '../support/property.ts';
import { isRoot } from '../support/unprivileged.ts';

/** Names and values of any bytes, on everything in a random tree. */
function makeRandomTree(source: string, prng: Prng): void {
  const calls = nativeCalls()!.attributes!;
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => 1 + prng.int(255)));
  const decorate = (path: ByteString, namespaces: readonly string[]): void => {
    if (namespaces.length === 0) return;
    for (let count = prng.int(4); count > 0; count -= 1) {
      const name = Buffer.concat([Buffer.from(namespaces[prng.int(namespaces.length)]!), bytes(1 + prng.int(20))]);
      const result = calls.set(path, byteStringFromBytes(name), bytes(prng.int(300)));
      expect(result).toBe(0);
    }
  };
  const everywhere = isRoot ? ['trusted.'] : [];
  const fill = (directory: ByteString, depth: number): void => {
    for (let count = prng.int(6); count > 0; count -= 1) {
      const name = byteStringFromBytes(
        Buffer.concat([Buffer.from(`${count}`), bytes(1 + prng.int(6))].map(withoutSlash)),
      );
      const path = joinPath(directory, name);
      const kind = prng.int(4);
      if (kind === 0 && depth > 0) {
        mkdirSync(fsPath(path));
        fill(path, depth - 1);
      } else if (kind === 1) {
        symlinkSync('target', fsPath(path));
      } else {
        writeFileSync(fsPath(path), bytes(prng.int(5) === 0 ? 400_000 : prng.int(3000)));
        if (prng.int(4) === 0) truncateSync(fsPath(path), 500_000 + prng.int(10) * 4096);
      }
      decorate(path, kind === 1 ? everywhere : ['user.', ...everywhere]);
    }
  };
  fill(byteStringFromText(source), 3);
}

function withoutSlash(name: Buffer): Buffer {
  return Buffer.from(name.map((byte) => (byte === 0x2f ? 0x2d : byte)));
}

testProperty('random attributes of random trees survive', async (check) => {
  await check(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const stage = await makeStage();
      makeRandomTree(stage.source, createPrng(seed));
      await save(stage);
      expect(await bringBack(stage)).toMatchObject({ problems: [], attributesIncomplete: 0 });
      const restored = join(stage.directory, 'target/tree');
      expect(diffTrees(stage.source, restored)).toEqual([]);
      if (NO_ATTRIBUTE_TOOLS === '') expect(dumpAttributes(restored)).toBe(dumpAttributes(stage.source));
    }),
    { numRuns: 12 },
  );
});
