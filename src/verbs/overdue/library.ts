export { findOverdueGroups } from './group-ages.ts';
export type { GroupAge, OverdueGroups, OverdueOptions } from './group-ages.ts';
