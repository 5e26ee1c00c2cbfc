export const bugs = [
  {
    id: 'Z5',
    file: 'core/store/block-gatherer.ts',
    find: ' || this.#lengths.length === CHUNKS_MAX',
    replace: '',
    tests: ['core/store/block-gatherer'],
    note: 'a block has more chunks than the format allows',
  },
  {
    id: 'Z22',
    file: 'verbs/backup/file-store.ts',
    find: 'return saved !== undefined && isSameVersion(saved.metadata, metadata) ? saved : undefined;',
    replace: 'return saved;',
    tests: ['verbs/backup/file-store'],
    note: 'a file that changed is taken for one that was saved before',
  },
];
