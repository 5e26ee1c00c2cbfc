/** The kinds of `wrongValues`, by the names of arguments. */
type Kinds = Readonly<Record<string, string>>;

/** The arguments of an operation after the context. What must be there has a kind with `!`. */
export interface OperationArguments {
  /** What comes before the options. */
  readonly before?: Kinds;
  readonly options?: Kinds;
  /** What comes after the options. */
  readonly after?: Kinds;
}

/** Options that are true or false. */
function flags(...names: readonly string[]): Kinds {
  return Object.fromEntries(names.map((name) => [name, 'flag']));
}

const EXCLUSION: Kinds = {
  exclude: 'texts',
  excludeLargerThan: 'count',
  iexclude: 'texts',
  excludeIfPresent: 'texts',
  excludeIfXattr: 'texts',
  ...flags('excludeCaches', 'gitIgnore', 'excludeNodump', 'oneFileSystem', 'ignoreFiles'),
};

const FILTER: Kinds = { hosts: 'texts', paths: 'texts', tags: 'lists', since: 'time', before: 'time' };

const CHOICE: Kinds = { selectors: 'texts!', filter: 'filter' };

const INIT: Kinds = {
  chunker: 'object',
  chunkHash: 'hash',
  packHash: 'hash',
  fpr: 'number',
  hashes: 'positive',
  capacity: 'positive',
  compressionLevel: 'integer',
  groups: 'objects',
  copies: 'positive',
  copiesIfRefs: 'object',
  appendOnly: 'flag',
  singleWriter: 'flag',
  copyParametersFrom: 'other',
  realm: 'object',
  encryption: 'encryption',
};

const BACKUP: Kinds = {
  ...EXCLUSION,
  sources: 'paths!',
  listed: 'listed',
  stream: 'streamedFile',
  cwd: 'path!',
  hostname: 'text',
  tags: 'texts',
  readConcurrency: 'positive',
  verifyReused: 'share',
  reliesOn: 'text',
  smallChunks: 'smallChunks',
  time: 'time',
  comment: 'anyText',
  keepUntil: 'time',
  recordEveryMs: 'number',
  onEntry: 'call',
  ...flags('force', 'withAtime', 'ignoreCtime', 'ignoreInode', 'dryRun', 'skipIfUnchanged', 'storesOffline'),
};

/** Each operation is called with every value of each argument that its kind excludes. */
export const OPERATIONS: Readonly<Record<string, OperationArguments>> = {
  backup: { options: BACKUP },
  chooseRepository: { before: { candidates: 'others!', policy: 'policyName!' }, options: BACKUP },
  restore: {
    options: {
      selector: 'path!',
      filter: 'filter',
      target: 'path',
      overwrite: 'overwrite',
      include: 'texts',
      iinclude: 'texts',
      exclude: 'texts',
      iexclude: 'texts',
      includeXattr: 'texts',
      excludeXattr: 'texts',
      planBytesMax: 'number',
      onEntry: 'call',
      fromDomains: 'source',
      onFetched: 'call',
      ...flags('original', 'delete', 'owner', 'ownerByName', 'xattr', 'sparse', 'dryRun', 'verify'),
    },
  },
  forgetByPolicy: {
    options: {
      policy: 'policy!',
      filter: 'filter',
      groupBy: 'groupBy',
      keepSizeBytes: 'number',
      allowEmptyGroup: 'flag',
      dryRun: 'flag',
      reclaim: 'flag',
      undoUntil: 'time',
    },
  },
  deleteSnapshots: { options: { ...CHOICE, dryRun: 'flag', reclaim: 'flag', undoUntil: 'time' } },
  undeleteSnapshots: { options: CHOICE },
  check: {
    options: {
      readData: 'readData',
      isKnown: 'call',
      maxAgeMs: 'number',
      recordEveryBytes: 'number',
      now: 'call',
      selectors: 'texts',
      filter: 'filter',
    },
  },
  checkStorage: { options: { readData: 'readData' } },
  repair: { options: { dryRun: 'flag', fromDomains: 'source', onFetched: 'call' } },
  compact: {
    options: {
      maxUnusedPercent: 'number',
      maxUnusedBytes: 'number',
      maxRepackBytes: 'number',
      ...flags('dryRun', 'reseal', 'makesCopies', 'forgetLost'),
    },
  },
  listSnapshots: {
    options: {
      ...FILTER,
      deleted: 'flag',
      cost: 'flag',
    },
  },
  showSnapshot: { options: { selector: 'text!', filter: 'filter' } },
  tagSnapshots: { options: { ...CHOICE, set: 'texts', add: 'texts', remove: 'texts' } },
  pinSnapshots: { options: { ...CHOICE, until: 'time' } },
  unpinSnapshots: { options: CHOICE },
  findEntries: {
    options: { patterns: 'texts!', ignoresCase: 'flag', selectors: 'paths', filter: 'filter', newestOnly: 'flag' },
    after: { visitor: 'visitor!' },
  },
  listFiles: {
    options: { selector: 'path!', filter: 'filter', recursive: 'flag' },
    after: { visit: 'call!', onSnapshot: 'call' },
  },
  dump: {
    options: {
      selector: 'path!',
      filter: 'filter',
      format: 'format',
      onlyFile: 'flag',
      write: 'call!',
      onArchive: 'call',
    },
  },
  findHistory: { options: { path: 'path!', filter: 'filter', metadata: 'flag' } },
  findContent: { options: { paths: 'paths!' }, after: { onFile: 'call!' } },
  collectStats: { options: { byFile: 'flag' } },
  diagnose: { options: { hostname: 'text' } },
  adopt: { options: { from: 'text', dryRun: 'flag' } },
  locate: {
    options: {
      target: 'path',
      range: 'range',
      ask: 'ask',
      explains: 'flag',
      deadlineMs: 'number',
      usesMemory: 'flag',
      isLeftOut: 'call',
    },
    after: { onChunk: 'call!', onFile: 'call' },
  },
  runAgent: { options: { listen: 'listen', onReady: 'call', onTrouble: 'call' } },
  openSnapshot: { options: { selector: 'path!', filter: 'filter', cacheBytes: 'number' } },
  openRepositoryForReading: { options: { cacheBytes: 'number' } },
  copySnapshots: {
    options: { destination: 'other!', selectors: 'texts', filter: 'filter', dryRun: 'flag', onSnapshot: 'call' },
  },
  diffSnapshots: {
    options: { ...EXCLUSION, before: 'path', after: 'path', filter: 'filter', metadata: 'flag', checksum: 'flag' },
  },
  measureUsage: {
    options: { selectors: 'paths', filter: 'filter', asOne: 'flag', depth: 'count', largestFiles: 'count' },
  },
  measureGrowth: {},
  surveyStorage: {},
  findOverdueGroups: { options: { ...FILTER, groupBy: 'groupBy!', maxAgeMs: 'number!' } },
  rewriteSnapshots: {
    options: {
      ...CHOICE,
      patterns: 'patterns',
      include: 'patterns',
      newHost: 'text',
      newTime: 'time',
      forget: 'flag',
      dryRun: 'flag',
    },
  },
  mount: {
    options: {
      directory: 'path!',
      filter: 'filter',
      pathTemplates: 'texts',
      allowOther: 'flag',
      ignorePermissions: 'flag',
      ownerRoot: 'flag',
      onMounted: 'call',
    },
  },
  importTar: {
    options: {
      archive: 'stream!',
      ignoresZeros: 'flag',
      acceptsAnyEnd: 'flag',
      base: 'path',
      paths: 'paths',
      hostname: 'text',
      tags: 'texts',
      time: 'time',
      dryRun: 'flag',
    },
  },
  initRepository: { options: INIT },
  initRepositoryIfMissing: { options: INIT },
  addRepositoryKey: { options: { newPassword: 'password!', role: 'state', label: 'text' } },
  importKeys: { options: { newPassword: 'password!', role: 'state', label: 'text', page: 'anyText!' } },
  testKeyPage: { options: { page: 'anyText!' } },
  changeRepositoryPassword: { options: { newPassword: 'password!' } },
  removeRepositoryKeys: { before: { starts: 'texts!' } },
  addGroup: { options: { name: 'text!', place: 'text!', weight: 'number', capacityBytes: 'count' } },
  setCopies: { options: { copies: 'positive!', copiesIfRefs: 'object' } },
  setGroupState: { before: { name: 'text!', state: 'state!' } },
  setGroupPlace: { before: { name: 'text!', place: 'text!' } },
  removeGroup: { before: { name: 'text!' } },
  loseGroup: { before: { name: 'text!' }, options: { confirmed: 'flag', readData: 'flag' } },
  drainGroup: { before: { name: 'text!' }, options: { dryRun: 'flag' } },
  recoverFromGroups: { before: { places: 'texts!' }, options: { allowMissing: 'flag' } },
  rebalanceGroups: { options: { dryRun: 'flag' } },
  joinRealm: { options: { coordinator: 'text!', cache: 'text', isMoved: 'flag', name: 'text' } },
  forgetDomain: { options: { named: 'text!', releasesHolds: 'flag' } },
  listGroups: {},
  listRepositoryKeys: {},
  exportKeys: {},
  rotateMasterKey: {},
  leaveRealm: {},
  realmStatus: {},
  openDomainSource: {},
  publish: { options: { ranges: 'flag' } },
};
