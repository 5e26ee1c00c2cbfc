import { describe, expect, it } from 'vitest';

import { rankGroups } from '../../../src/core/groups/placement.ts';

const GROUPS = [
  { id: 'a', weight: 1 },
  { id: 'b', weight: 2 },
  { id: 'c', weight: 3.5 },
];
const PACKS = Array.from({ length: 10_000 }, (_, number) => `pack ${number}`);
const TOTAL = 6.5;

function firstOf(pack: string, groups: readonly { readonly id: string; readonly weight: number }[]): string {
  return rankGroups(pack, groups, (group) => group)[0]!.id;
}

describe('the placement of packs', () => {
  it('follows the weights within 5 %', () => {
    for (const { id, weight } of GROUPS) {
      const share = PACKS.filter((pack) => firstOf(pack, GROUPS) === id).length / PACKS.length;
      expect(Math.abs(share / (weight / TOTAL) - 1)).toBeLessThan(0.05);
    }
  });

  it('changes for the share of a new group only, plus 2 %', () => {
    const added = { id: 'd', weight: 1 };
    const moved = PACKS.filter((pack) => firstOf(pack, GROUPS) !== firstOf(pack, [...GROUPS, added]));
    expect(moved.length / PACKS.length).toBeLessThan(1 / (TOTAL + 1) + 0.02);
    for (const pack of moved) expect(firstOf(pack, [...GROUPS, added])).toBe('d');
  });

  it('has all other groups after the first, in an order that depends on the pack', () => {
    const orders = new Set(
      PACKS.map((pack) =>
        rankGroups(pack, GROUPS, (group) => group)
          .map(({ id }) => id)
          .join(''),
      ),
    );
    expect([...orders].sort()).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);
  });
});
