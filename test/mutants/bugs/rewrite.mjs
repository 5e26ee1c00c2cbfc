export const bugs = [
  {
    id: 'R1',
    file: 'verbs/rewrite/rewrite.ts',
    find: "if (opened.needsCondemned) throw new RefusedError(INTERRUPTED, { advice: { code: 'repair-and-repeat' } });",
    replace: '',
    tests: ['verbs/rewrite/rewrite'],
    note: 'a new snapshot relies on packs that a stopped process has condemned',
  },
  {
    id: 'R2',
    file: 'verbs/rewrite/rewrite.ts',
    find: `    if (forgotten) assertUnprotected(selected);
`,
    replace: '',
    tests: ['verbs/rewrite/rewrite'],
    note: 'a pinned snapshot is replaced and deleted',
  },
  {
    id: 'R3',
    file: 'verbs/rewrite/tree-rewriter.ts',
    find: '    await this.#distrustUnreadable(id);\n',
    replace: '',
    tests: ['verbs/rewrite/rewrite'],
    note: 'damaged trees of an earlier rewrite are used again, and the good original is deleted',
  },
  {
    id: 'R4',
    file: 'verbs/rewrite/rewrite.ts',
    find: 'replaces === undefined || copied.has(listing.id)',
    replace: 'replaces === undefined',
    tests: ['verbs/rewrite/rewrite'],
    note: 'an earlier result of which only the second copy is left is used again',
  },
  {
    id: 'R6',
    file: 'verbs/rewrite/rewrite.ts',
    find: `    assertNoHold(selected);
`,
    replace: '',
    tests: ['realm/lending/holds'],
    note: 'the hold of a domain is rewritten',
  },
];
