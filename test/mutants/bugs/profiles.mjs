export const bugs = [
  {
    id: 'Q1',
    file: 'console/settings/profile.ts',
    find: 'if (!readsStream && !LIST_OPTIONS.some(isGiven))',
    replace: 'if (!LIST_OPTIONS.some(isGiven))',
    tests: ['cli/profile-precedence'],
    note: 'the paths of the profile are added to a backup of a stream',
  },
  {
    id: 'Q2',
    file: 'console/settings/profile.ts',
    find: `    ...rest,
    ...omitUndefined(given),`,
    replace: `    ...omitUndefined(given),
    ...rest,`,
    tests: ['cli/profile-precedence'],
    note: 'the profile overrides the command line',
  },
  {
    id: 'Q3',
    file: 'console/settings/profile-values.ts',
    find: "throw new WrongValueError(`is ${JSON.stringify(path)}`, 'Give an absolute path, or one that begins with ~/.');",
    replace: 'return path;',
    tests: ['console/settings/profile'],
    note: 'a relative path in a profile is accepted, and means another place in each directory',
  },
];
