export const bugs = [
  {
    id: 'M1',
    file: 'verbs/mount/snapshot-names.ts',
    find: 'shared + 1)',
    replace: 'shared)',
    tests: ['verbs/mount/snapshot-names'],
    note: 'two snapshots get the same name',
  },
  {
    id: 'M2',
    file: 'core/snapshots/snapshot-file.ts',
    find: 'if (this.#ends[middle]! > offset)',
    replace: 'if (this.#ends[middle]! >= offset)',
    tests: ['core/snapshots/snapshot-file'],
    note: 'a read that begins where a chunk ends gets other bytes',
  },
  {
    id: 'M3',
    file: 'core/snapshots/snapshot-file.ts',
    find: `      this.#held = undefined;
      throw error;`,
    replace: '      throw error;',
    tests: ['core/snapshots/snapshot-file'],
    note: 'a read that failed once fails for ever',
  },
];
