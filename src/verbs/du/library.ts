export { measureUsage } from './du.ts';
export type { DiskUsage, DiskUsageOptions, UsageRow } from './du.ts';
export { measureGrowth } from './growth.ts';
export type { SnapshotGrowth } from './growth.ts';
