import { describe, expect, it } from 'vitest';

import type { Domain } from '../../../../src/realm/domains/open-peer.ts';
import { lookUp } from '../../../../src/realm/verbs/locate/look-up.ts';
import type { LookedUp } from '../../../../src/realm/verbs/locate/look-up.ts';
import { PeerError } from '../../../../src/realm/coordination/realm-errors.ts';
import type { KnownChunk } from '../../../../src/realm/agents/peer.ts';
import type { OpenedState } from '../../../../src/core/repository/opened-state.ts';

const ID = Buffer.alloc(20, 7);
const PLACE: KnownChunk = {
  packId: 'ab'.repeat(32),
  blockOffset: 0,
  offsetInBlock: 0,
  lengthBytes: 1,
  refs: 1,
  state: 'live',
};

/** A repository without chunks. */
function empty(isWhole: boolean): OpenedState {
  return { state: { filter: { find: () => -1 } }, damage: { isWhole } } as unknown as OpenedState;
}

function domainOf(name: string): Domain {
  const member = { name, host: 'host', place: `/${name}` };
  return { id: name.repeat(64), member, published: undefined, problem: undefined };
}

interface Given {
  /** By the name of a domain: what it answers. */
  readonly answers: Readonly<Record<string, KnownChunk | 'fails' | undefined>>;
  /** The domains whose planes say maybe. */
  readonly maybe?: readonly string[];
  readonly unknown?: ReadonlyMap<string, string>;
  readonly isWhole?: boolean;
}

async function look({ answers, maybe = [], unknown = new Map(), isWhole = true }: Given): Promise<{
  readonly found: LookedUp;
  /** The names of the domains that were asked, in order. */
  readonly asked: readonly string[];
}> {
  const asked: string[] = [];
  const all = Object.keys(answers).map(domainOf);
  const askable: Parameters<typeof lookUp>[1] = {
    all,
    unknown,
    candidates: async (ids) => ids.map(() => all.filter(({ member }) => maybe.includes(member.name))),
    ask: async ({ member }) => {
      asked.push(member.name);
      const answer = answers[member.name];
      if (answer === 'fails') throw new PeerError('nobody answers', { kind: 'unreachable' });
      return [answer];
    },
    answers: async () => undefined,
  };
  const [found] = await lookUp(empty(isWhole), askable, [ID], { ask: 'maybe', deadlineMs: 300_000 });
  return { found: found!, asked };
}

describe('a chunk that is looked up in a realm', () => {
  it('is asked for only where planes say maybe, if one of these has it', async () => {
    const { found, asked } = await look({ answers: { a: undefined, b: PLACE, c: undefined }, maybe: ['a', 'b'] });
    expect([found.verdict, asked]).toEqual(['found', ['a', 'b']]);
  });

  it('is absent only if every domain has said so, also those whose planes say no', async () => {
    const { found, asked } = await look({ answers: { a: undefined, b: undefined, c: undefined }, maybe: ['b'] });
    expect([found.verdict, asked]).toEqual(['absent', ['b', 'a', 'c']]);
    const late = await look({ answers: { a: undefined, b: PLACE }, maybe: ['a'] });
    expect(late.found).toMatchObject({ verdict: 'found', elsewhere: [{ place: PLACE }] });
  });

  it.each<[string, Given]>([
    ['a domain does not answer', { answers: { a: undefined, b: 'fails' } }],
    ['the record of a domain is damaged', { answers: { a: undefined }, unknown: new Map([['b', 'damaged']]) }],
    ['the own repository is damaged', { answers: { a: undefined }, isWhole: false }],
  ])('is not said to be absent if %s', async (_what, given) => {
    const { found } = await look(given);
    expect(found.verdict).toBe('unknown');
    expect(found.unanswered.size).toBe(1);
  });
});
