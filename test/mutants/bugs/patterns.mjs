export const bugs = [
  {
    id: 'X1',
    file: 'core/files/source/ignore-glob.ts',
    find: `      found.bytes[SLASH] = 0;
`,
    replace: '',
    tests: ['core/files/source/ignore-patterns'],
    note: 'a class in an ignore file matches a slash',
  },
  {
    id: 'X2',
    file: 'core/files/source/ignore-patterns.ts',
    find: 'text.startsWith(BYTE_ORDER_MARK) ?',
    replace: 'false ?',
    tests: ['core/files/source/ignore-patterns', 'core/sources/ignore-files'],
    note: 'the byte order mark of an ignore file is taken for a part of its first pattern',
  },
  {
    id: 'X3',
    file: 'core/files/paths/path-pattern.ts',
    find: 'source = `(?!/)[${classSource(only)}]`',
    replace: 'source = `[${classSource(only)}]`',
    tests: ['core/files/paths/path-pattern'],
    note: 'a class in a pattern matches a slash',
  },
];
