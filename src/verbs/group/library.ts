export { addGroup, listGroups, setCopies, setGroupPlace, setGroupState } from './groups.ts';
export type { CopyRules, GroupListing, GroupState, ListedGroup, NewGroup, StorageGroup } from './groups.ts';
export { loseGroup } from './group-lost.ts';
export type { GroupLoss, GroupLossOptions } from './group-lost.ts';
export { recoverFromGroups } from './group-recover.ts';
export type { GroupRecovery, GroupRecoveryOptions } from './group-recover.ts';
export { drainGroup, rebalanceGroups, removeGroup } from '../../core/copies/group-moves.ts';
export type { GroupMoveOptions, GroupMoves, UnmovedPack } from '../../core/copies/group-moves.ts';
