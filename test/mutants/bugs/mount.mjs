export const bugs = [
  {
    id: 'M1',
    file: 'operations/mount/snapshot-names.ts',
    find: 'shared + 1)',
    replace: 'shared)',
    tests: ['operations/mount/snapshot-names'],
    note: 'two snapshots get the same name',
  },
  {
    id: 'M2',
    file: 'operations/read/snapshot-file.ts',
    find: 'if (this.#ends[middle]! > offset)',
    replace: 'if (this.#ends[middle]! >= offset)',
    tests: ['operations/read/snapshot-file'],
    note: 'a read that begins where a chunk ends gets other bytes',
  },
  {
    id: 'M3',
    file: 'operations/read/snapshot-file.ts',
    find: `      this.#held = undefined;
      throw error;`,
    replace: '      throw error;',
    tests: ['operations/read/snapshot-file'],
    note: 'a read that failed once fails for ever',
  },
];
