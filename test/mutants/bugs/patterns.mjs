export const bugs = [
  {
    id: 'X1',
    file: 'files/ignore-glob.ts',
    find: `      found.bytes[SLASH] = 0;
`,
    replace: '',
    tests: ['files/ignore-patterns'],
    note: 'a class in an ignore file matches a slash',
  },
  {
    id: 'X2',
    file: 'files/ignore-patterns.ts',
    find: 'text.startsWith(BYTE_ORDER_MARK) ?',
    replace: 'false ?',
    tests: ['files/ignore-patterns', 'operations/backup/ignore-files'],
    note: 'the byte order mark of an ignore file is taken for a part of its first pattern',
  },
  {
    id: 'X3',
    file: 'files/path-pattern.ts',
    find: 'source = `(?!/)[${classSource(only)}]`',
    replace: 'source = `[${classSource(only)}]`',
    tests: ['files/path-pattern'],
    note: 'a class in a pattern matches a slash',
  },
];
