/** The library: every operation of the command line as a function that returns data. */
import { registerWings } from './wings.ts';

export { LocalBackend } from './core/backend/local-backend.ts';
export { openBackend } from './places/open-backend.ts';
export type { RemoteOptions } from './places/open-backend.ts';
export type { Backend, BackendFile, Place, StagedFile } from './core/backend/backend.ts';
export type { ChunkerParameters } from './core/chunking/chunker.ts';
export * from './core/errors.ts';
export type { FilterPlan } from './core/ldm/formulas.ts';
export type { FilterStatistics } from './core/ldm/filter-statistics.ts';
export type { Snapshot, SnapshotSummary } from './core/format/snapshot.ts';
export type { TreeEntry } from './core/format/tree/tree.ts';
export type { BirthTime, EntryAttributes, ExtendedAttribute } from './core/format/tree/tree-entry.ts';
export type { UnsetCount } from './verbs/restore/attribute-tally.ts';
export { backup } from './verbs/backup/backup.ts';
export { chooseRepository } from './verbs/backup/choose-repository.ts';
export type { AskedRepository, RepositoryChoice, RepositoryPolicy } from './verbs/backup/choose-repository.ts';
export type {
  BackupOptions,
  Continued,
  SkippedRepository,
  SourceProblem,
  StreamedFile,
} from './verbs/backup/backup.ts';
export type { BackupResult } from './core/saving/backup-result.ts';
export { cleanCaches, listCaches } from './verbs/cache/cache.ts';
export type { CachedRepositoryFiles } from './verbs/cache/cache.ts';
export { check } from './verbs/check/check.ts';
export type {
  AffectedPath,
  CheckOptions,
  CheckResult,
  Disagreement,
  Finding,
  Impact,
  PackProblem,
  ReadData,
} from './verbs/check/check.ts';
export { checkStorage } from './verbs/check/check-storage.ts';
export type { StorageCheckOptions, StorageCheckResult } from './verbs/check/check-storage.ts';
export { compact } from './core/removing/compact.ts';
export type { CompactOptions, CompactResult } from './core/removing/compact.ts';
export { copySnapshots } from './verbs/copy/copy.ts';
export type { CopiedSnapshot, CopyAmount, CopyOptions, CopyProblem, CopyResult } from './verbs/copy/copy.ts';
export { createProgress } from './core/session/progress.ts';
export type { OperationContext, OtherRepository, PasswordSource } from './core/session/context.ts';
export type { Progress, RestoreProgress } from './core/session/progress.ts';
export { deleteSnapshots, undeleteSnapshots } from './core/removing/delete.ts';
export type { DeleteOptions, DeleteResult, FreedBytes } from './core/removing/delete.ts';
export { forgetByPolicy } from './verbs/forget/forget.ts';
export type {
  ForgetOptions,
  ForgetResult,
  ForgottenGroup,
  KeptInGroup,
  RemovedFromGroup,
} from './verbs/forget/forget.ts';
export type { RetentionPolicy } from './verbs/forget/retention-policy.ts';
export type { CalendarSpan } from './core/util/calendar-span.ts';
export { diagnose } from './verbs/doctor/doctor.ts';
export type { Diagnosis, DiagnosisStatus, DoctorOptions, FoundRepository, NativePart } from './verbs/doctor/doctor.ts';
export { dump } from './verbs/dump/dump.ts';
export type { ArchiveFormat, DumpOptions, DumpResult, WriteBytes } from './verbs/dump/dump.ts';
export { askFiles, askIds, openMembership, parseChunkIds } from './filters/test/ask.ts';
export type { ExportedMembership, MembershipAnswer } from './filters/test/ask.ts';
export { compareFilters } from './filters/compare/compare.ts';
export type { CompareOptions, CompareResult, StructureResult } from './filters/compare/compare.ts';
export { exportMembership } from './filters/export/export.ts';
export type { ExportFormat, ExportOptions, ExportResult } from './filters/export/export.ts';
export { inspectFilter } from './filters/inspect/inspect.ts';
export type { InspectResult } from './filters/inspect/inspect.ts';
export { runLoadTest } from './filters/load-test/load-test.ts';
export type { LoadTestOptions, LoadTestResult } from './filters/load-test/load-test.ts';
export { walkPlan } from './filters/plan/plan.ts';
export type { PlanChoice, PlanRequest, PlanWalk } from './filters/plan/plan.ts';
export { simulateChains } from './filters/simulate/simulate.ts';
export type { SimulationOptions, SimulationResult } from './filters/simulate/simulate.ts';
export { diffSnapshots } from './verbs/diff/diff.ts';
export type { DiffChange, DiffCounts, DiffOptions, DiffResult, DiffStatistics } from './verbs/diff/diff.ts';
export { measureUsage } from './verbs/du/du.ts';
export type { DiskUsage, DiskUsageOptions, UsageRow } from './verbs/du/du.ts';
export { findContent } from './verbs/have/have.ts';
export type { HaveOptions, HaveResult, SoughtFile } from './verbs/have/have.ts';
export { findEntries } from './verbs/find/find.ts';
export type { FindOptions, FindResult, FindVisitor, FoundEntry } from './verbs/find/find.ts';
export { findHistory } from './verbs/history/history.ts';
export type { HistoryOptions, HistoryResult, PathVersion } from './verbs/history/history.ts';
export { importTar } from './verbs/import-tar/import-tar.ts';
export type { ArchiveBytes, ImportTarOptions, ImportTarResult } from './verbs/import-tar/import-tar.ts';
export { initRepository, initRepositoryIfMissing, repositoryExists } from './core/creating/init.ts';
export type { ExistingRepository, InitOptions, InitOutcome, InitResult } from './core/creating/init.ts';
export { rotateMasterKey } from './verbs/key/key-rotation.ts';
export type { RotateResult } from './verbs/key/key-rotation.ts';
export { exportKeys, importKeys, testKeyPage } from './verbs/key/key-pages.ts';
export type { ExportKeysResult, TestPageResult } from './verbs/key/key-pages.ts';
export {
  addRepositoryKey,
  changeRepositoryPassword,
  listRepositoryKeys,
  removeRepositoryKeys,
} from './verbs/key/keys.ts';
export type {
  AddKeyOptions,
  AddKeyResult,
  ChangePasswordResult,
  KeyListing,
  KeyRole,
  ListedKey,
  UnusableKey,
} from './verbs/key/keys.ts';
export { loseGroup } from './verbs/group/group-lost.ts';
export type { GroupLoss, GroupLossOptions } from './verbs/group/group-lost.ts';
export { recoverFromGroups } from './verbs/group/group-recover.ts';
export type { GroupRecovery, GroupRecoveryOptions } from './verbs/group/group-recover.ts';
export { drainGroup, rebalanceGroups, removeGroup } from './core/copies/group-moves.ts';
export type { GroupMoveOptions, GroupMoves, UnmovedPack } from './core/copies/group-moves.ts';
export { addGroup, listGroups, setCopies, setGroupPlace, setGroupState } from './verbs/group/groups.ts';
export type { CopyRules, GroupListing, GroupState, ListedGroup, NewGroup, StorageGroup } from './verbs/group/groups.ts';
export { createRealm } from './realm/verbs/realm/create.ts';
export type { CreateRealmOptions, CreatedRealm } from './realm/verbs/realm/create.ts';
export { adopt } from './realm/verbs/adopt/adopt.ts';
export type { AdoptOptions, AdoptResult } from './realm/verbs/adopt/adopt.ts';
export { runAgent } from './realm/verbs/agent/agent.ts';
export type { AgentOptions, AgentPlace, AgentResult } from './realm/verbs/agent/agent.ts';
export { openDomainSource } from './realm/lending/domain-source.ts';
export { joinRealm } from './realm/verbs/realm/join.ts';
export type { JoinOptions, JoinResult } from './realm/verbs/realm/join.ts';
export { forgetDomain, leaveRealm } from './realm/verbs/realm/leave.ts';
export type { ForgetDomainOptions, ForgetDomainResult, LeaveResult } from './realm/verbs/realm/leave.ts';
export { locate } from './realm/verbs/locate/locate.ts';
export type { LocateOptions, LocateResult, LocatedChunk } from './realm/verbs/locate/locate.ts';
export { publish } from './realm/verbs/realm/publish-ranges.ts';
export type { PublishResult, PublishedRanges } from './realm/verbs/realm/publish-ranges.ts';
export type { RealmFile } from './core/session/extension.ts';
export { realmStatus } from './realm/verbs/realm/status.ts';
export type { DomainStatus, RealmStatus } from './realm/verbs/realm/status.ts';
export type { Notice } from './core/session/notices.ts';
export type { OlderState, RepositoryMemory, SeenRepository } from './core/session/memory.ts';
export { listFiles } from './verbs/ls/ls.ts';
export type { ListFilesOptions } from './verbs/ls/ls.ts';
export type { ListedEntry } from './core/snapshots/snapshot-reader.ts';
export { serve } from './places/serve/serve.ts';
export type { ServeOptions } from './places/serve/serve.ts';
export type { Streams } from './places/serve/sftp-server.ts';
export { mount } from './verbs/mount/mount.ts';
export type { MountOptions, MountResult, Mounted } from './verbs/mount/mount.ts';
export { openRepositoryForReading, openSnapshot } from './core/snapshots/open-snapshot.ts';
export type {
  EntryInput,
  OpenForReadingOptions,
  OpenSnapshotOptions,
  OpenedSnapshot,
  ReadFileOptions,
  RepositoryReader,
  SnapshotFile,
  SnapshotReader,
} from './core/snapshots/open-snapshot.ts';
export type { ChunkSource, OfferedChunk } from './core/session/chunk-source.ts';
export type { FetchedChunk, FetchedChunks } from './core/healing/domain-chunks.ts';
export { repair } from './verbs/repair/repair.ts';
export type { RepairAction, RepairOptions, RepairResult } from './verbs/repair/repair.ts';
export { restore } from './verbs/restore/restore.ts';
export type {
  OverwriteMode,
  RestoreAction,
  RestoreOptions,
  RestoreProblem,
  RestoreResult,
  RestoredEntry,
} from './verbs/restore/restore.ts';
export { rewriteSnapshots } from './verbs/rewrite/rewrite.ts';
export type { RewriteOptions, RewriteResult, RewrittenSnapshot } from './verbs/rewrite/rewrite.ts';
export { listSnapshots, showSnapshot } from './verbs/snapshots/snapshots.ts';
export type {
  ListSnapshotsOptions,
  ShownSnapshot,
  SnapshotFilter,
  SnapshotListing,
} from './verbs/snapshots/snapshots.ts';
export type { ListedSnapshot } from './core/removing/remove-snapshots.ts';
export { collectStats } from './verbs/stats/stats.ts';
export type {
  FileStatistics,
  HeldFor,
  HostStatistics,
  PackStatistics,
  StatsOptions,
  StatsResult,
} from './verbs/stats/stats.ts';
export { pinSnapshots, tagSnapshots, unpinSnapshots } from './verbs/tag/tag.ts';
export type { ChangeResult, PinOptions, ReplacedSnapshot, TagOptions } from './verbs/tag/tag.ts';
export type { SnapshotChoice } from './core/snapshots/select-snapshots.ts';
export { VERSION } from './core/util/version.ts';
export { isUtf8, nameBytes, textOf } from './core/util/byte-string.ts';
export type { ByteString, PathInput } from './core/util/byte-string.ts';

registerWings();
