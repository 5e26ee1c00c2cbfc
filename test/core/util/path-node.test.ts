import { describe, expect, it } from 'vitest';

import type { ByteString } from '../../../src/core/util/byte-string.ts';
import { pathOf, shownPathOf } from '../../../src/core/util/path-node.ts';
import type { PathNode } from '../../../src/core/util/path-node.ts';

function nodeAt(...names: readonly string[]): PathNode {
  let node: PathNode | undefined;
  for (const name of names) node = { parent: node, name: name as ByteString };
  return node!;
}

describe('the path of a place', () => {
  it('is made of the names from the top, which may have none', () => {
    expect(pathOf(nodeAt('a', 'b', 'c'))).toBe('a/b/c');
    expect(pathOf(nodeAt('', 'a', 'b'))).toBe('a/b');
    expect(pathOf(nodeAt(''))).toBe('');
    expect(shownPathOf(nodeAt('', 'a', 'b'))).toBe('a/b');
    expect(shownPathOf(nodeAt('/', 'a'))).toBe('/a');
  });

  it('loses its middle in messages where it is very long', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `${index}`.padEnd(100, '-'));
    const shown = shownPathOf(nodeAt(...names));
    expect(shown.length).toBeLessThan(9000);
    expect(shown.startsWith(`${names[0]}/${names[1]}/`)).toBe(true);
    expect(shown).toContain('-/.../9');
    expect(shown.endsWith(`/${names.at(-2)}/${names.at(-1)}`)).toBe(true);
    expect(pathOf(nodeAt(...names))).toBe(names.join('/'));
    const fits = nodeAt('a'.repeat(4000), 'b'.repeat(4191));
    expect(shownPathOf(fits)).toBe(pathOf(fits));
    expect(shownPathOf(nodeAt('a'.repeat(9000), 'b'))).toBe(`${'a'.repeat(9000)}/.../b`);
  });
});
