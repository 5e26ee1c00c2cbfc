import { expect, it } from 'vitest';

import { PathAutomaton } from '../../../../src/core/files/paths/path-automaton.ts';
import { compilePathPattern, lowerCaseOf } from '../../../../src/core/files/paths/path-pattern.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { byteStringFromText } from '../../../../src/core/util/byte-string.ts';
import { createPrng } from '../../../support/prng.ts';
import { randomName, randomPattern } from '../../../support/restic-filter.ts';
import { seedsOf } from '../../../support/seeds.ts';

function matchesWhole(pattern: string, path: string, ignoresCase: boolean): boolean {
  const { nameRegex, pathRegex } = compilePathPattern(pattern, { ignoresCase });
  const text = ignoresCase ? lowerCaseOf(path) : path;
  return nameRegex?.test(text.slice(text.lastIndexOf('/') + 1)) !== false && pathRegex?.test(text) !== false;
}

it.each(seedsOf(1, 10))(
  'follows paths name by name with the same result as the regular expression of the whole path (seed %i)',
  (seed) => {
    const prng = createPrng(seed);
    let matchCount = 0;
    for (let round = 0; round < 3000; round += 1) {
      const ignoresCase = prng.int(3) === 0;
      const patterns = Array.from({ length: 1 + prng.int(3) }, () => randomPattern(prng)).filter(
        (pattern) => !pattern.startsWith('!'),
      );
      const automaton = new PathAutomaton(patterns, { ignoresCase });
      let path = '';
      let state = automaton.start;
      let wasDead = false;
      for (let depth = 0; depth < 5; depth += 1) {
        const name = randomName(prng);
        path += `/${name}`;
        state = automaton.enter(state, byteStringFromText(name));
        const expected = patterns.some((pattern) => matchesWhole(pattern, path, ignoresCase));
        expect(state.isMatch, `seed ${seed}: ${JSON.stringify(patterns)} on ${path}`).toBe(expected);
        expect(expected && wasDead).toBe(false);
        wasDead = state.isDead;
        matchCount += Number(expected);
      }
      expect(automaton.follow(byteStringFromText(path))).toBe(state);
    }
    expect(matchCount).toBeGreaterThan(1000);
  },
);

it('knows where an absolute pattern cannot match any more', () => {
  const automaton = new PathAutomaton(['/home/me/*.txt']);
  const follow = (path: string): { isMatch: boolean; isDead: boolean } => automaton.follow(path as ByteString);
  expect(follow('/home')).toMatchObject({ isMatch: false, isDead: false });
  expect(follow('/srv')).toMatchObject({ isMatch: false, isDead: true });
  expect(follow('/home/me/a.txt')).toMatchObject({ isMatch: true, isDead: true });
});
