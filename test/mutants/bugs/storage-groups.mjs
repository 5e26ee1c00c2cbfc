const GROUP = ['core/groups/group', 'core/groups/group-guards', 'verbs/group/groups', 'core/copies/group-moves'];
const MOVES = ['verbs/group/group-guards', 'core/copies/group-moves', 'core/copies/group-copies', 'verbs/group/groups'];

export const bugs = [
  {
    id: 'GR1',
    file: 'core/groups/group.ts',
    find: 'this.#offlineReason ??= reason;',
    replace: 'this.#offlineReason = reason;',
    tests: GROUP,
    note: 'a group that one step found offline is online again because another step had looked before',
  },
  {
    id: 'GR2',
    file: 'core/groups/group.ts',
    find: `    await this.#assertThere();
    // The disk may have been mounted between the first look and the check.
    return await sizeOf();`,
    replace: '    return undefined;',
    tests: GROUP,
    note: 'a pack counts as absent, not as offline, where the disk of its group is not mounted',
  },
  {
    id: 'GR3',
    file: 'core/groups/group.ts',
    find: 'this.#durableChanges = Math.max(this.#durableChanges, changes);',
    replace: 'this.#durableChanges = this.#changes;',
    tests: GROUP,
    note: 'what is written while a barrier runs counts as durable',
  },
  {
    id: 'GR4',
    file: 'core/groups/group.ts',
    find: '          await this.#assertThere();\n          await verify?.();',
    replace: '          await verify?.();',
    tests: GROUP,
    note: 'a pack gets its name on the wrong disk if the disk of the group was unmounted while it was written',
  },
  {
    id: 'GR5',
    file: 'core/groups/group.ts',
    find: '      this.#packBytes -= sizeBytes;\n      if (isDiskFull(error))',
    replace: '      if (isDiskFull(error))',
    tests: GROUP,
    note: 'packs that could not be written take up the capacity of a group',
  },
  {
    id: 'GR6',
    file: 'core/groups/packs-in-groups.ts',
    find: 'new Set([name, ...known.filter((copy) => copy.home === home).map((copy) => copy.name)])',
    replace: 'new Set([name])',
    tests: GROUP,
    note: 'copies that a move has made are not removed with their pack',
  },
  {
    id: 'GR7',
    file: 'core/repository/groups/copy-decision.ts',
    find: 'if (best !== undefined && (elsewhere === undefined || compareRanks(best, elsewhere) < 0))',
    replace: 'if (best !== undefined)',
    tests: MOVES,
    note: 'a copy stays that ranks below one that is removed: a suspended process may then remove it too',
  },
  {
    id: 'GR8',
    file: 'core/repository/durable-moves.ts',
    find: '      if (!(await this.#areSound(pack, kept))) continue;\n',
    replace: '',
    tests: MOVES,
    note: 'a move removes a copy without having read the ones that stay',
  },
  {
    id: 'GR9',
    file: 'core/copies/group-moves.ts',
    find: `copies.some(({ home }) => home === group));
    if (!group.isOnline) throw group.offlineError();`,
    replace: 'copies.some(({ home }) => home === group));',
    tests: MOVES,
    note: 'a group that goes offline while its packs are listed is drained with success, and nothing is moved',
  },
  {
    id: 'GR10',
    file: 'core/copies/wanted-copies.ts',
    find: 'if (sum >= refs) needed.add',
    replace: 'if (sum > refs) needed.add',
    tests: MOVES,
    note: 'a chunk that is needed exactly as often as the rule says gets no further copy',
  },
  {
    id: 'GR11',
    file: 'core/copies/wanted-copies.ts',
    find: '  if (!isWhole(opened)) return copiesTolerated(rules, packs);\n',
    replace: '',
    tests: MOVES,
    note: 'copies are removed in a damaged repository, where it is not known how often chunks are needed',
  },
  {
    id: 'GR12',
    file: 'core/repository/groups/group-changes.ts',
    find: `    await this.#write({ ...list, version: list.version + 1, groups });
    await onListed?.();
    if (isEmptied) await this.#removeIdentity(removed);`,
    replace: `    if (isEmptied) await this.#removeIdentity(removed);
    await this.#write({ ...list, version: list.version + 1, groups });
    await onListed?.();`,
    tests: MOVES,
    note: 'a removal that is interrupted leaves a group in the list that is offline for ever',
  },
  {
    id: 'GR13',
    file: 'core/repository/durable-moves.ts',
    find: '    for (const group of homesOf(batch.flatMap(({ surplus }) => surplus))) await group.barrier();\n',
    replace: '',
    tests: ['integration/move-order'],
    note: 'a power cut brings back copies in a group that was drained',
  },
  {
    id: 'GR14',
    file: 'core/repository/durable-moves.ts',
    find: '      await group.settle(directoriesOf(batch, group));\n',
    replace: '',
    tests: ['integration/move-order'],
    note: 'a copy is removed though the other one was published by a process that died before its fsync',
  },
];
