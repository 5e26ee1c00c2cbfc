/** The library: every operation of the command line as a function that returns data. */
import { registerWings } from './wings.ts';

registerWings();

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
export { createProgress } from './core/session/progress.ts';
export type { OperationContext, OtherRepository } from './core/session/context.ts';
export type { PasswordSource } from './core/session/unlock.ts';
export type { Progress, RestoreProgress } from './core/session/progress.ts';
export type { CalendarSpan } from './core/util/calendar-span.ts';
export type { RealmFile } from './core/session/extension.ts';
export type { Notice } from './core/session/notices.ts';
export type { OlderState, RepositoryMemory, SeenRepository } from './core/session/memory.ts';
export type { EntryPage, ListedEntry, PageOptions } from './core/snapshots/snapshot-reader.ts';
export type { PathVersion, VersionOptions } from './core/snapshots/path-versions.ts';
export type { ReleaseMeasure } from './core/ldm/fold-release.ts';
export { openRepositoryForReading, openSnapshot } from './core/snapshots/open-snapshot.ts';
export type {
  EntryInput,
  OpenForReadingOptions,
  OpenSnapshotOptions,
  OpenedSnapshot,
  ReadFileOptions,
  ReadVersionsOptions,
  RepositoryReader,
  SnapshotFile,
  SnapshotReader,
} from './core/snapshots/open-snapshot.ts';
export type { ChunkSource, OfferedChunk } from './core/session/chunk-source.ts';
export type { FetchedChunk, FetchedChunks } from './core/healing/domain-chunks.ts';
export type { ListedSnapshot } from './core/removing/remove-snapshots.ts';
export type { SnapshotChoice } from './core/snapshots/select-snapshots.ts';
export { isUtf8, nameBytes, textOf } from './core/util/byte-string.ts';
export type { ByteString, PathInput } from './core/util/byte-string.ts';

// What follows is made of the verbs by `npm run docs`.
export * from './filters/library.ts';
export * from './realm/verbs/adopt/adopt.ts';
export * from './realm/verbs/agent/agent.ts';
export * from './realm/verbs/locate/locate.ts';
export * from './realm/verbs/realm/library.ts';
export * from './verbs/backup/library.ts';
export * from './verbs/cache/cache.ts';
export * from './verbs/check/library.ts';
export * from './verbs/compact/library.ts';
export * from './verbs/copy/copy.ts';
export * from './verbs/delete/library.ts';
export * from './verbs/diff/diff.ts';
export * from './verbs/doctor/doctor.ts';
export * from './verbs/du/library.ts';
export * from './verbs/dump/dump.ts';
export * from './verbs/find/find.ts';
export * from './verbs/forget/forget.ts';
export * from './verbs/group/library.ts';
export * from './verbs/have/have.ts';
export * from './verbs/history/history.ts';
export * from './verbs/import-tar/import-tar.ts';
export * from './verbs/init/library.ts';
export * from './verbs/key/library.ts';
export * from './verbs/ls/ls.ts';
export * from './verbs/mount/mount.ts';
export * from './verbs/overdue/library.ts';
export * from './verbs/repair/repair.ts';
export * from './verbs/restore/restore.ts';
export * from './verbs/rewrite/rewrite.ts';
export * from './verbs/serve/library.ts';
export * from './verbs/snapshots/snapshots.ts';
export * from './verbs/stats/stats.ts';
export * from './verbs/tag/tag.ts';
export * from './verbs/version/library.ts';
