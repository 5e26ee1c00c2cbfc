export const bugs = [
  {
    id: 'CF1',
    file: 'filters/family/shared-counters.ts',
    find: `const seen = Atomics.compareExchange(this.words, index, word, word + change * (1 << shift));
      if (seen === word) return count;
      word = seen;`,
    replace: `this.words[index] = word + change * (1 << shift);
      return count;`,
    tests: ['filters/family/shared-counting-filter'],
    built: true,
    note: 'a change of one thread overwrites that of another one in the same word',
  },
  {
    id: 'CF2',
    file: 'filters/family/shared-counters.ts',
    find: '    this.#acquire(index);\n',
    replace: '',
    tests: ['filters/family/shared-counting-filter'],
    built: true,
    note: 'two deletes of one id both find it, and the second takes counters of others',
  },
  {
    id: 'CF3',
    file: 'filters/family/shared-counters.ts',
    find: 'if (count === this.#countMax || count + change < 0) return count;',
    replace: 'if (count + change < 0) return count;',
    tests: ['filters/family/shared-counting-filter'],
    built: true,
    note: 'a counter that overflows changes its neighbour',
  },
  {
    id: 'CF4',
    file: 'filters/family/counting-bloom-filter.ts',
    find: 'return lowest === this.#counters.countMax ? Infinity : lowest;',
    replace: 'return lowest;',
    tests: ['filters/family/counting-bloom-filter'],
    note: 'a saturated counter hides how often an id was added',
  },
];
