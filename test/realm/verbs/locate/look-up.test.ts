import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Domain } from '../../../../src/realm/domains/open-peer.ts';
import { lookUp } from '../../../../src/realm/verbs/locate/look-up.ts';
import type { LookedUp } from '../../../../src/realm/verbs/locate/look-up.ts';
import { PeerError } from '../../../../src/realm/coordination/realm-errors.ts';
import type { KnownChunk } from '../../../../src/realm/agents/peer.ts';
import type { PlaneVerdict } from '../../../../src/realm/planes/held-planes.ts';
import type { OpenedState } from '../../../../src/core/repository/opened-state.ts';
import { testProperty } from '../../../support/property.ts';

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
    verdicts: async (ids) => ids.map(() => all.map(({ member }) => (maybe.includes(member.name) ? 'maybe' : 'no'))),
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

interface GivenDomain {
  readonly said: PlaneVerdict;
  readonly isLeftOut: boolean;
  readonly has: boolean;
}

testProperty(
  'an explanation says of each domain what its plane said, and those that did not say no are asked first',
  async (check) => {
    const said = fc.constantFrom('maybe' as const, 'no' as const, 'unknown' as const);
    const domain = fc.record({ said, isLeftOut: fc.boolean(), has: fc.boolean() });
    const run = async (given: readonly GivenDomain[]): Promise<void> => {
      const all = given.map((_, index) => domainOf('abcdef'[index]!));
      const asked: number[] = [];
      const askable: Parameters<typeof lookUp>[1] = {
        all,
        unknown: new Map(),
        verdicts: async (ids) => ids.map(() => given.map((each) => each.said)),
        ask: async (each) => {
          const index = all.indexOf(each);
          asked.push(index);
          return [given[index]!.has ? PLACE : undefined];
        },
        answers: async () => undefined,
      };
      const isLeftOut = (each: Domain): boolean => given[all.indexOf(each)]!.isLeftOut;
      const options = { ask: 'maybe', deadlineMs: 300_000, isLeftOut } as const;
      const [plain] = await lookUp(empty(true), askable, [ID], options);
      expect(plain!.planes).toBeUndefined();
      const askedPlain = asked.splice(0);
      const [found] = await lookUp(empty(true), askable, [ID], { ...options, explains: true });
      // To explain changes nothing else.
      expect({ ...found, planes: undefined }).toEqual(plain);
      expect(asked).toEqual(askedPlain);
      expect(found!.planes!.map((each) => [each.domain, each.said, each.isLeftOut])).toEqual(
        given.map((each, index) => [all[index], each.said, each.isLeftOut]),
      );
      const first = [...given.keys()].filter((index) => given[index]!.said !== 'no' && !given[index]!.isLeftOut);
      const isFoundFirst = first.some((index) => given[index]!.has);
      expect(asked.slice(0, first.length)).toEqual(first);
      expect(asked.length).toBe(isFoundFirst ? first.length : given.length);
    };
    await check(fc.asyncProperty(fc.array(domain, { maxLength: 6 }), run));
  },
);
