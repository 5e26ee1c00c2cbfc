/** The library: every operation of the command line as a function that returns data. */
export { LocalBackend } from './backend/local-backend.ts';
export { openBackend } from './backend/open-backend.ts';
export type { RemoteOptions } from './backend/open-backend.ts';
export type { Backend, BackendFile, Place, StagedFile } from './backend/backend.ts';
export type { ChunkerParameters } from './chunking/chunker.ts';
export * from './errors.ts';
export type { FilterPlan } from './ldm/formulas.ts';
export type { FilterStatistics } from './ldm/filter-statistics.ts';
export type { Snapshot, SnapshotSummary } from './format/snapshot.ts';
export type { TreeEntry } from './format/tree.ts';
export type { BirthTime, EntryAttributes, ExtendedAttribute } from './format/tree-entry.ts';
export type { UnsetCount } from './operations/restore/attribute-tally.ts';
export { backup } from './operations/backup.ts';
export { chooseRepository } from './operations/choose-repository.ts';
export type { AskedRepository, RepositoryChoice, RepositoryPolicy } from './operations/choose-repository.ts';
export type {
  BackupOptions,
  BackupResult,
  Continued,
  SkippedRepository,
  SourceProblem,
  StreamedFile,
} from './operations/backup.ts';
export { cleanCaches, listCaches } from './operations/cache.ts';
export type { CachedRepositoryFiles } from './operations/cache.ts';
export { check } from './operations/check.ts';
export type {
  AffectedPath,
  CheckOptions,
  CheckResult,
  Disagreement,
  Finding,
  Impact,
  PackProblem,
  ReadData,
} from './operations/check.ts';
export { checkStorage } from './operations/check-storage.ts';
export type { StorageCheckOptions, StorageCheckResult } from './operations/check-storage.ts';
export { compact } from './operations/compact.ts';
export type { CompactOptions, CompactResult } from './operations/compact.ts';
export { copySnapshots } from './operations/copy.ts';
export type { CopiedSnapshot, CopyAmount, CopyOptions, CopyProblem, CopyResult } from './operations/copy.ts';
export { createProgress } from './operations/context.ts';
export type {
  OperationContext,
  OtherRepository,
  PasswordSource,
  Progress,
  RestoreProgress,
} from './operations/context.ts';
export { deleteSnapshots, undeleteSnapshots } from './operations/delete.ts';
export type { DeleteOptions, DeleteResult, FreedBytes } from './operations/delete.ts';
export { forgetByPolicy } from './operations/forget.ts';
export type {
  ForgetOptions,
  ForgetResult,
  ForgottenGroup,
  KeptInGroup,
  RemovedFromGroup,
} from './operations/forget.ts';
export type { RetentionPolicy } from './operations/retention/retention-policy.ts';
export type { CalendarSpan } from './util/calendar-span.ts';
export { diagnose } from './operations/doctor.ts';
export type { Diagnosis, DiagnosisStatus, DoctorOptions, FoundRepository, NativePart } from './operations/doctor.ts';
export { dump } from './operations/dump.ts';
export type { ArchiveFormat, DumpOptions, DumpResult, WriteBytes } from './operations/dump.ts';
export { askFiles, askIds, openMembership, parseChunkIds } from './operations/filter/ask.ts';
export type { ExportedMembership, MembershipAnswer } from './operations/filter/ask.ts';
export { compareFilters } from './operations/filter/compare.ts';
export type { CompareOptions, CompareResult, StructureResult } from './operations/filter/compare.ts';
export { exportMembership } from './operations/filter/export.ts';
export type { ExportFormat, ExportOptions, ExportResult } from './operations/filter/export.ts';
export { inspectFilter } from './operations/filter/inspect.ts';
export type { InspectResult } from './operations/filter/inspect.ts';
export { runLoadTest } from './operations/filter/load-test.ts';
export type { LoadTestOptions, LoadTestResult } from './operations/filter/load-test.ts';
export { walkPlan } from './operations/filter/plan.ts';
export type { PlanChoice, PlanRequest, PlanWalk } from './operations/filter/plan.ts';
export { simulateChains } from './operations/filter/simulate.ts';
export type { SimulationOptions, SimulationResult } from './operations/filter/simulate.ts';
export { diffSnapshots } from './operations/diff.ts';
export type { DiffChange, DiffCounts, DiffOptions, DiffResult, DiffStatistics } from './operations/diff.ts';
export { measureUsage } from './operations/du.ts';
export type { DiskUsage, DiskUsageOptions, UsageRow } from './operations/du.ts';
export { findContent } from './operations/have.ts';
export type { HaveOptions, HaveResult, SoughtFile } from './operations/have.ts';
export { findEntries } from './operations/find.ts';
export type { FindOptions, FindResult, FindVisitor, FoundEntry } from './operations/find.ts';
export { findHistory } from './operations/history.ts';
export type { HistoryOptions, HistoryResult, PathVersion } from './operations/history.ts';
export { importTar } from './operations/import-tar.ts';
export type { ArchiveBytes, ImportTarOptions, ImportTarResult } from './operations/import-tar.ts';
export { initRepository, initRepositoryIfMissing, repositoryExists } from './operations/init.ts';
export type { ExistingRepository, InitOptions, InitOutcome, InitResult } from './operations/init.ts';
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
export { loseGroup } from './operations/group-lost.ts';
export type { GroupLoss, GroupLossOptions } from './operations/group-lost.ts';
export { recoverFromGroups } from './operations/group-recover.ts';
export type { GroupRecovery, GroupRecoveryOptions } from './operations/group-recover.ts';
export { drainGroup, rebalanceGroups, removeGroup } from './operations/group-moves.ts';
export type { GroupMoveOptions, GroupMoves, UnmovedPack } from './operations/group-moves.ts';
export { addGroup, listGroups, setCopies, setGroupPlace, setGroupState } from './operations/groups.ts';
export type { CopyRules, GroupListing, GroupState, ListedGroup, NewGroup, StorageGroup } from './operations/groups.ts';
export { createRealm } from './operations/realm/create.ts';
export type { CreateRealmOptions, CreatedRealm } from './operations/realm/create.ts';
export { adopt } from './operations/realm/adopt.ts';
export type { AdoptOptions, AdoptResult } from './operations/realm/adopt.ts';
export { runAgent } from './operations/realm/agent.ts';
export type { AgentOptions, AgentPlace, AgentResult } from './operations/realm/agent.ts';
export { openDomainSource } from './operations/realm/domain-source.ts';
export { joinRealm } from './operations/realm/join.ts';
export type { JoinOptions, JoinResult } from './operations/realm/join.ts';
export { forgetDomain, leaveRealm } from './operations/realm/leave.ts';
export type { ForgetDomainOptions, ForgetDomainResult, LeaveResult } from './operations/realm/leave.ts';
export { locate } from './operations/realm/locate.ts';
export type { LocateOptions, LocateResult, LocatedChunk } from './operations/realm/locate.ts';
export { publish } from './operations/realm/publish-ranges.ts';
export type { PublishResult, PublishedRanges } from './operations/realm/publish-ranges.ts';
export type { RealmFile } from './operations/realm/read-key.ts';
export { realmStatus } from './operations/realm/status.ts';
export type { DomainStatus, RealmStatus } from './operations/realm/status.ts';
export type { Notice } from './operations/notices.ts';
export type { OlderState, RepositoryMemory, SeenRepository } from './operations/repository-memory.ts';
export { listFiles } from './operations/ls.ts';
export type { ListFilesOptions, ListedEntry } from './operations/ls.ts';
export { serve } from './serve/serve.ts';
export type { ServeOptions } from './serve/serve.ts';
export type { Streams } from './serve/sftp-server.ts';
export { mount } from './operations/mount.ts';
export type { MountOptions, MountResult, Mounted } from './operations/mount.ts';
export { openRepositoryForReading, openSnapshot } from './operations/open-snapshot.ts';
export type {
  EntryInput,
  OpenForReadingOptions,
  OpenSnapshotOptions,
  OpenedSnapshot,
  ReadFileOptions,
  RepositoryReader,
  SnapshotFile,
  SnapshotReader,
} from './operations/open-snapshot.ts';
export type { ChunkSource, OfferedChunk } from './operations/realm/chunk-source.ts';
export type { FetchedChunk, FetchedChunks } from './operations/realm/domain-chunks.ts';
export { repair } from './operations/repair.ts';
export type { RepairAction, RepairOptions, RepairResult } from './operations/repair.ts';
export { restore } from './operations/restore.ts';
export type {
  OverwriteMode,
  RestoreAction,
  RestoreOptions,
  RestoreProblem,
  RestoreResult,
  RestoredEntry,
} from './operations/restore.ts';
export { rewriteSnapshots } from './operations/rewrite.ts';
export type { RewriteOptions, RewriteResult, RewrittenSnapshot } from './operations/rewrite.ts';
export { listSnapshots, showSnapshot } from './operations/snapshots.ts';
export type {
  ListSnapshotsOptions,
  ListedSnapshot,
  ShownSnapshot,
  SnapshotFilter,
  SnapshotListing,
} from './operations/snapshots.ts';
export { collectStats } from './operations/stats.ts';
export type {
  FileStatistics,
  HeldFor,
  HostStatistics,
  PackStatistics,
  StatsOptions,
  StatsResult,
} from './operations/stats.ts';
export { pinSnapshots, tagSnapshots, unpinSnapshots } from './operations/tag.ts';
export type { ChangeResult, PinOptions, ReplacedSnapshot, TagOptions } from './operations/tag.ts';
export type { SnapshotChoice } from './operations/select-snapshots.ts';
export { VERSION } from './operations/version.ts';
export { isUtf8, nameBytes, textOf } from './util/byte-string.ts';
export type { ByteString, PathInput } from './util/byte-string.ts';
