import type { ListedSources } from '../../core/files/source/source-roots.ts';
import type { StreamedFile } from '../../core/saving/content-stream.ts';
import type { BackupEntry } from '../../core/saving/entry-listing.ts';
import type { SmallChunks } from '../../core/saving/changing-files.ts';
import type { ReusedShare } from '../../core/saving/reused-sample.ts';
import type { OptionKinds } from '../../core/session/arguments.ts';
import { EXCLUSION_KINDS } from '../../core/sources/exclusion.ts';
import type { ExclusionOptions } from '../../core/sources/exclusion.ts';
import type { PathInput } from '../../core/util/byte-string.ts';
import type { ChangeOptions } from './file-store.ts';

export interface BackupOptions extends ExclusionOptions, ChangeOptions {
  /** Paths and glob patterns. Empty for a stream. */
  readonly sources: readonly PathInput[];
  /** More sources. */
  readonly listed?: ListedSources;
  /** Makes a snapshot of one file with this content, instead of sources. */
  readonly stream?: StreamedFile;
  /** The directory that relative paths start from. */
  readonly cwd: PathInput;
  readonly hostname?: string;
  readonly tags?: readonly string[];
  /** Reads every file, even one that looks unchanged. */
  readonly force?: boolean;
  /** Records when each entry was last read. */
  readonly withAtime?: boolean;
  /** At most this many files are read at a time. Default: one for each core and one more, at least 3. */
  readonly readConcurrency?: number;
  /** Which files of 64 MiB or more are stored in chunks of 64 KiB where they change. Default: `auto`. */
  readonly smallChunks?: SmallChunks;
  /** Stores nothing. */
  readonly dryRun?: boolean;
  /** Makes no snapshot if it would be the same as the one it is compared with. */
  readonly skipIfUnchanged?: boolean;
  /** Stores again what is known only in groups that are offline. */
  readonly storesOffline?: boolean;
  /** Reads these of the chunks that are reused, and stores again what is wrong. */
  readonly verifyReused?: ReusedShare;
  /** Does not store what this domain of the realm has, and has it keep that instead. */
  readonly reliesOn?: string;
  /** The time of the snapshot in RFC 3339. Default: now. */
  readonly time?: string;
  /** A note for people. */
  readonly comment?: string;
  /** The snapshot must not be deleted before this time (RFC 3339). */
  readonly keepUntil?: string;
  /** How often to record what is stored, so that the next backup can continue this one. Default: every 5 minutes. */
  readonly recordEveryMs?: number;
  /** Called for each entry below the sources: for a directory after its contents, for what is excluded a little early. */
  readonly onEntry?: (entry: BackupEntry) => void;
}

export const BACKUP_KINDS: OptionKinds<Required<BackupOptions>> = {
  ...EXCLUSION_KINDS,
  sources: 'paths!',
  listed: { patterns: 'paths', paths: 'paths' },
  stream: { path: 'path!', content: 'asyncStream!' },
  cwd: 'path!',
  hostname: 'text',
  tags: 'texts',
  force: 'flag',
  withAtime: 'flag',
  ignoreCtime: 'flag',
  ignoreInode: 'flag',
  readConcurrency: 'positive',
  smallChunks: ['auto', 'always', 'never'],
  dryRun: 'flag',
  skipIfUnchanged: 'flag',
  storesOffline: 'flag',
  verifyReused: 'share',
  reliesOn: 'text',
  time: 'time',
  comment: 'anyText',
  keepUntil: 'time',
  recordEveryMs: 'number',
  onEntry: 'call',
};
