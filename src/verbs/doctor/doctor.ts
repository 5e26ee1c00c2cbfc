import { accessSync, constants, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { measureVerified, readVerified } from '../../core/damage/verified-records.ts';
import { LdmError } from '../../core/errors.ts';
import { OPEN_FILES_MIN, openFilesMax } from '../../core/files/native/open-files.ts';
import { hasNanosecondTimes } from '../../core/files/native/native.ts';
import { DIRECTORIES } from '../../core/format/layout.ts';
import { inspectInstallation } from '../../core/repository/installation.ts';
import type { Installation } from '../../core/repository/installation.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { futureSnapshots } from '../../core/snapshots/select-snapshots.ts';

/** A result is good, could be better, or prevents backups. `unknown`: it could not be found out. */
export type DiagnosisStatus = 'ok' | 'warning' | 'error' | 'unknown';

/** What was found out about one subject. */
export type Diagnosis = { readonly status: DiagnosisStatus } & (
  | { readonly subject: 'node'; readonly version: string }
  | { readonly subject: 'zstd'; readonly implementation: Installation['zstd'] }
  /** `missing`: packages without which something is slower or less exact. */
  | { readonly subject: 'native'; readonly missing: readonly NativePart[] }
  | { readonly subject: 'open-files'; readonly limit: number }
  | { readonly subject: 'repository'; readonly found: FoundRepository | LdmError }
  | { readonly subject: 'permissions'; readonly readOnly: readonly string[] }
  | { readonly subject: 'disk'; readonly freeBytes?: number; readonly totalBytes?: number }
  | { readonly subject: 'clock'; readonly now: string; readonly future: readonly SnapshotListing[] }
  | { readonly subject: 'last-backup'; readonly newest: SnapshotListing | undefined }
  /** What `check --max-age` has recorded, if anything. `share`: of the data, from 0 to 1. `oldest`: RFC 3339. */
  | { readonly subject: 'verified'; readonly share: number; readonly oldest: string }
);

export type NativePart = 'blake3' | 'argon2' | 'system-calls';

export interface FoundRepository {
  readonly repositoryId: string;
  readonly location: string;
  readonly isEncrypted: boolean;
  readonly snapshotCount: number;
  /** Snapshots whose manifest is missing or cannot be read. */
  readonly damagedCount: number;
}

export interface DoctorOptions {
  /** The host whose last backup matters. Default: that of any. */
  readonly hostname?: string;
}

/** The versions of Node that the package supports. */
const NODE_VERSIONS: readonly (readonly [major: number, minor: number])[] = [
  [20, 19],
  [22, 12],
];
const NODE_MAJOR_MIN = 24;
const FREE_SHARE_MIN = 0.05;
const BACKUP_AGE_DAYS_MAX = 31;
const DAY_MS = 86_400_000;
/** Before this program was written. No correct clock shows less. */
const EARLIEST_TIME = '2025-01-01T00:00:00Z';

/** Examines the installation, the repository and its surroundings. Changes nothing. */
export async function diagnose(context: OperationContext, options: DoctorOptions = {}): Promise<Diagnosis[]> {
  assertArguments<DoctorOptions>(context, options, { hostname: 'text' });
  const installation = await inspectInstallation();
  const environment = [diagnoseNode(), diagnoseZstd(installation), diagnoseNative(installation), diagnoseOpenFiles()];
  const repository = await diagnoseRepository(context, options).catch((error: unknown): Diagnosis[] => {
    if (!(error instanceof LdmError)) throw error;
    return [{ subject: 'repository', status: 'error', found: error }, diagnoseClock([])];
  });
  return [...environment, ...repository];
}

function diagnoseNode(): Diagnosis {
  const { node: version } = process.versions;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const known = NODE_VERSIONS.find(([each]) => each === major);
  const isSupported = known === undefined ? major >= NODE_MAJOR_MIN : minor >= known[1];
  return { subject: 'node', status: isSupported ? 'ok' : 'warning', version };
}

function diagnoseZstd({ zstd: implementation }: Installation): Diagnosis {
  return { subject: 'zstd', status: implementation === undefined ? 'error' : 'ok', implementation };
}

function diagnoseNative({ isBlake3Native, isArgon2Native }: Installation): Diagnosis {
  const missing: NativePart[] = [
    ...(isBlake3Native ? [] : (['blake3'] as const)),
    ...(isArgon2Native ? [] : (['argon2'] as const)),
    ...(hasNanosecondTimes() ? [] : (['system-calls'] as const)),
  ];
  return { subject: 'native', status: missing.length === 0 ? 'ok' : 'warning', missing };
}

function diagnoseOpenFiles(): Diagnosis {
  const limit = openFilesMax();
  return { subject: 'open-files', status: limit < OPEN_FILES_MIN ? 'error' : 'ok', limit };
}

/** Reads the manifests, under a shared lock if possible. */
async function diagnoseRepository(context: OperationContext, { hostname }: DoctorOptions): Promise<Diagnosis[]> {
  return await withRepository(context, 'read', async (repository) => {
    const { location } = context.backend;
    const { listings, damaged } = await repository.files.readSnapshots();
    const { repositoryId, encryption } = repository.config;
    const found = {
      repositoryId,
      location,
      isEncrypted: encryption !== undefined,
      snapshotCount: listings.length,
      damagedCount: damaged.size,
    };
    const own = listings.filter(({ snapshot }) => hostname === undefined || snapshot.hostname === hostname);
    return [
      { subject: 'repository', status: damaged.size > 0 ? 'error' : 'ok', found },
      diagnosePermissions(location),
      diagnoseDisk(location),
      diagnoseClock(listings),
      diagnoseLastBackup(own.at(-1)),
      ...(await diagnoseVerified(repository)),
    ];
  });
}

async function diagnoseVerified(repository: Repository): Promise<Diagnosis[]> {
  const { times } = await readVerified(repository, Date.now());
  if (times.size === 0) return [];
  const { packBytes, verifiedBytes, oldest } = await measureVerified(repository, times);
  return oldest === undefined ? [] : [{ subject: 'verified', status: 'ok', share: verifiedBytes / packBytes, oldest }];
}

/** A repository that can only be read is none for backups, but may be meant to be that. */
function diagnosePermissions(location: string): Diagnosis {
  const readOnly = DIRECTORIES.filter((name) => {
    try {
      accessSync(join(location, name), constants.W_OK | constants.X_OK);
      return false;
    } catch (error) {
      // Directories that a copy has lost are created again.
      return (error as NodeJS.ErrnoException).code !== 'ENOENT';
    }
  });
  return { subject: 'permissions', status: readOnly.length === 0 ? 'ok' : 'warning', readOnly };
}

function diagnoseDisk(location: string): Diagnosis {
  try {
    const { bavail, blocks, bsize } = statfsSync(location);
    const status = bavail / blocks < FREE_SHARE_MIN ? 'warning' : 'ok';
    return { subject: 'disk', status, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return { subject: 'disk', status: 'unknown' };
  }
}

function diagnoseClock(listings: readonly SnapshotListing[]): Diagnosis {
  const nowMs = Date.now();
  const future = futureSnapshots(listings);
  const isWrong = nowMs < Date.parse(EARLIEST_TIME);
  const status = isWrong ? 'error' : future.length > 0 ? 'warning' : 'ok';
  return { subject: 'clock', status, now: new Date(nowMs).toISOString(), future };
}

function diagnoseLastBackup(newest: SnapshotListing | undefined): Diagnosis {
  const ageMs = newest === undefined ? Infinity : Date.now() - Date.parse(newest.snapshot.time);
  return { subject: 'last-backup', status: ageMs > BACKUP_AGE_DAYS_MAX * DAY_MS ? 'warning' : 'ok', newest };
}
