/** The library: every operation of the command line as a function that returns data. */
export { LocalBackend } from './backend/local-backend.ts';
export type { Backend, BackendFile, Place, StagedFile } from './backend/backend.ts';
export type { ChunkerParameters } from './chunking/chunker.ts';
export * from './errors.ts';
export type { FilterPlan } from './ldm/formulas.ts';
export type { FilterStatistics } from './ldm/filter-statistics.ts';
export type { Snapshot, SnapshotSummary } from './format/snapshot.ts';
export type { TreeEntry } from './format/tree.ts';
export { backup } from './operations/backup.ts';
export type { BackupOptions, BackupResult, SkippedRepository, SourceProblem } from './operations/backup.ts';
export { check } from './operations/check.ts';
export type {
  AffectedPath,
  CheckOptions,
  CheckResult,
  Disagreement,
  Finding,
  Impact,
  PackProblem,
} from './operations/check.ts';
export { checkStorage } from './operations/check-storage.ts';
export type { StorageCheckOptions, StorageCheckResult } from './operations/check-storage.ts';
export { compact } from './operations/compact.ts';
export type { CompactOptions, CompactResult } from './operations/compact.ts';
export { copySnapshots } from './operations/copy.ts';
export type { CopiedSnapshot, CopyAmount, CopyOptions, CopyProblem, CopyResult } from './operations/copy.ts';
export { createProgress } from './operations/context.ts';
export type { OperationContext, OtherRepository, PasswordSource, Progress } from './operations/context.ts';
export { deleteSnapshots, undeleteSnapshots } from './operations/delete.ts';
export type { DeleteOptions, DeleteResult, FreedBytes } from './operations/delete.ts';
export { askFiles, askIds, openMembership, parseChunkIds } from './operations/filter/ask.ts';
export type { ExportedMembership, MembershipAnswer } from './operations/filter/ask.ts';
export { compareFilters } from './operations/filter/compare.ts';
export type { CompareOptions, CompareResult, StructureResult } from './operations/filter/compare.ts';
export { exportMembership } from './operations/filter/export.ts';
export type { ExportFormat, ExportOptions, ExportResult } from './operations/filter/export.ts';
export { inspectFilter } from './operations/filter/inspect.ts';
export type { InspectResult } from './operations/filter/inspect.ts';
export { walkPlan } from './operations/filter/plan.ts';
export type { PlanChoice, PlanRequest, PlanWalk } from './operations/filter/plan.ts';
export { simulateChains } from './operations/filter/simulate.ts';
export type { SimulationOptions, SimulationResult } from './operations/filter/simulate.ts';
export { initRepository, repositoryExists } from './operations/init.ts';
export type { InitOptions, InitResult } from './operations/init.ts';
export { rotateMasterKey } from './operations/key-rotation.ts';
export type { RotateResult } from './operations/key-rotation.ts';
export { exportKeys, importKeys, testKeyPage } from './operations/key-pages.ts';
export type { ExportKeysResult, TestPageResult } from './operations/key-pages.ts';
export {
  addRepositoryKey,
  changeRepositoryPassword,
  listRepositoryKeys,
  removeRepositoryKeys,
} from './operations/keys.ts';
export type {
  AddKeyOptions,
  AddKeyResult,
  ChangePasswordResult,
  KeyListing,
  KeyRole,
  ListedKey,
  UnusableKey,
} from './operations/keys.ts';
export type { Notice } from './operations/notices.ts';
export type { OlderState, RepositoryMemory, SeenRepository } from './operations/repository-memory.ts';
export { listFiles } from './operations/ls.ts';
export type { ListFilesOptions, ListedEntry } from './operations/ls.ts';
export { repair } from './operations/repair.ts';
export type { RepairAction, RepairOptions, RepairResult } from './operations/repair.ts';
export { restore } from './operations/restore.ts';
export type { OverwriteMode, RestoreOptions, RestoreProblem, RestoreResult } from './operations/restore.ts';
export { listSnapshots } from './operations/snapshots.ts';
export type { ListSnapshotsOptions, SnapshotFilter, SnapshotListing } from './operations/snapshots.ts';
export { collectStats } from './operations/stats.ts';
export type { PackStatistics, StatsResult } from './operations/stats.ts';
export { VERSION } from './operations/version.ts';
export type { ByteString, PathInput } from './util/byte-string.ts';
