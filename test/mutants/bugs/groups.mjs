export const bugs = [
  {
    id: 'G1',
    file: 'core/groups/pack-placer.ts',
    find: 'if (!stored.some(isDurableIn)) throw failures.get(stored[0]!) ?? stored[0]!.notDurableError();',
    replace: '',
    tests: ['verbs/group/groups', 'core/copies/group-copies', 'core/groups/group'],
    note: 'a snapshot is committed though one of its packs is durable nowhere',
  },
  {
    id: 'G2',
    file: 'core/groups/pack-placer.ts',
    find: 'while (online().length < this.#copies',
    replace: 'while (stored.length < this.#copies',
    tests: ['core/groups/group'],
    note: 'a copy in a group that went offline counts: the pack has too few',
  },
  {
    id: 'G3',
    file: 'core/groups/packs-in-groups.ts',
    find: `    if (removed.includes(true)) return true;
    this.#assertNoneOffline(name);
    return false;`,
    replace: '    return removed.includes(true);',
    tests: ['core/groups/packs-in-groups'],
    note: 'a pack in a group that is offline counts as removed',
  },
  {
    id: 'G4',
    file: 'core/groups/packs-in-groups.ts',
    find: 'each.sort((a, b) => b.sizeBytes - a.sizeBytes || compareRanks(a, b))',
    replace: 'each.sort((a, b) => compareRanks(a, b))',
    tests: ['core/groups/packs-in-groups'],
    note: 'a truncated copy is read before a whole one',
  },
  {
    id: 'G5',
    file: 'core/repository/groups/group-changes.ts',
    find: '[GROUPS_COPY_NAME, GROUPS_NAME]',
    replace: '[GROUPS_NAME, GROUPS_COPY_NAME]',
    tests: ['verbs/group/groups'],
    note: 'the list of groups is written before its copy: an interruption leaves no old one',
    equivalent: 'both are read, and the one with the larger version counts: their names are interchangeable',
  },
  {
    id: 'G6',
    file: 'core/repository/groups/group-changes.ts',
    find: 'if (known !== undefined && known.repositoryId !== repositoryId)',
    replace: 'if (known !== undefined && false)',
    tests: ['verbs/group/groups'],
    note: 'a group of another repository is taken in',
  },
  {
    id: 'G7',
    file: 'verbs/group/group-lost.ts',
    find: `    assertAllOnline(opened.listing);
`,
    replace: '',
    tests: ['verbs/group/group-lost'],
    note: 'a group is given up while another one, which may have its packs, is offline',
  },
];
