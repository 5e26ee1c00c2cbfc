export const bugs = [
  {
    id: 'T2',
    file: 'core/format/tar/tar-reader.ts',
    find: "throw this.#isFirst ? new ArchiveError('the archive is empty') : this.#withoutEnd();",
    replace: "if (this.#isFirst) throw new ArchiveError('the archive is empty'); return undefined;",
    tests: ['core/format/tar/tar-codec'],
    note: 'an archive that was cut between two members is imported as if it were whole',
  },
  {
    id: 'T3',
    file: 'core/format/tar/tar-header.ts',
    find: 'if (id < -1 && id >=',
    replace: 'if (id <= -1 && id >=',
    tests: ['verbs/import-tar/import-tar-odd'],
    note: 'the owner -1 is accepted, which no system call can set',
  },
  {
    id: 'T4',
    file: 'verbs/import-tar/import-tree.ts',
    find: `} else if (typeof before === 'object') {
      before.count -= 1;
    }`,
    replace: '}',
    tests: ['verbs/import-tar/import-tar'],
    note: 'the link count of a file is too high after one of its names was replaced',
  },
  {
    id: 'T5',
    file: 'verbs/import-tar/archive-run.ts',
    find: "    if (this.#earlyLinks.size > 0) this.#earlyLinks.delete(names.join('/'));\n",
    replace: '',
    tests: ['verbs/import-tar/import-tar'],
    note: 'a hard link that came before its target replaces a later file of the same name',
  },
  {
    id: 'T7',
    file: 'core/format/tar/tar-reader.ts',
    find: '      for (const [key, value] of await this.#readRecords(block, into)) this.#globals.set(',
    replace: `      this.#globals = new Map();
      for (const [key, value] of await this.#readRecords(block, into)) this.#globals.set(`,
    tests: ['verbs/import-tar/import-tar-metadata'],
    note: 'a second global header makes the reader forget the first',
  },
];
