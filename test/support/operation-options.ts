/**
 * Of each operation: what is between context and options, and the options that it knows. Each is called with every
 * wrong value of each option, and with the options that must be given missing.
 */
export const OPERATIONS: Readonly<
  Record<
    string,
    {
      readonly between?: readonly unknown[];
      readonly options: Readonly<Record<string, unknown>>;
      readonly needed?: readonly string[];
    }
  >
> = {
  copySnapshots: {
    options: { destination: 0, selectors: 0, filter: 0, dryRun: 0, onSnapshot: 0 },
    needed: ['destination'],
  },
  diffSnapshots: {
    options: {
      before: 0,
      after: 0,
      filter: 0,
      metadata: 0,
      checksum: 0,
      exclude: 0,
      excludeCaches: 0,
      excludeLargerThan: 0,
      gitIgnore: 0,
    },
  },
  measureUsage: { options: { selectors: 0, filter: 0, asOne: 0, depth: 0 } },
  rewriteSnapshots: {
    options: { selectors: 0, filter: 0, patterns: 0, include: 0, newHost: 0, newTime: 0, forget: 0, dryRun: 0 },
    needed: ['selectors'],
  },
  mount: {
    options: {
      directory: 0,
      filter: 0,
      pathTemplates: 0,
      allowOther: 0,
      ignorePermissions: 0,
      ownerRoot: 0,
      onMounted: 0,
    },
    needed: ['directory'],
  },
  importTar: {
    options: {
      archive: 0,
      ignoresZeros: 0,
      acceptsAnyEnd: 0,
      base: 0,
      paths: 0,
      hostname: 0,
      tags: 0,
      time: 0,
      dryRun: 0,
    },
    needed: ['archive'],
  },
  initRepository: {
    options: {
      chunker: 0,
      chunkHash: 0,
      packHash: 0,
      fpr: 0,
      hashes: 0,
      capacity: 0,
      compressionLevel: 0,
      groups: 0,
      copies: 0,
      copiesIfRefs: 0,
      appendOnly: 0,
      singleWriter: 0,
      copyParametersFrom: 0,
      realm: 0,
      encryption: 0,
    },
  },
  initRepositoryIfMissing: { options: { chunkHash: 0, fpr: 0, encryption: 0 } },
  addRepositoryKey: { options: { newPassword: 0, role: 0, label: 0 }, needed: ['newPassword'] },
  importKeys: { options: { newPassword: 0, role: 0, label: 0, page: 0 }, needed: ['newPassword', 'page'] },
  testKeyPage: { options: { page: 0 }, needed: ['page'] },
  changeRepositoryPassword: { options: { newPassword: 0 }, needed: ['newPassword'] },
  addGroup: { options: { name: 0, place: 0, weight: 0, capacityBytes: 0 }, needed: ['name', 'place'] },
  setCopies: { options: { copies: 0, copiesIfRefs: 0 }, needed: ['copies'] },
  loseGroup: { between: ['usb'], options: { confirmed: 0, readData: 0 } },
  drainGroup: { between: ['usb'], options: { dryRun: 0 } },
  recoverFromGroups: { between: [['/nowhere']], options: { allowMissing: 0 } },
  rebalanceGroups: { options: { dryRun: 0 } },
  joinRealm: { options: { coordinator: 0, cache: 0, isMoved: 0, name: 0 }, needed: ['coordinator'] },
  forgetDomain: { options: { named: 0, releasesHolds: 0 }, needed: ['named'] },
};
