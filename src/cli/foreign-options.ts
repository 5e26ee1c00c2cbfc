const RETURNED = 'Leave it out: `ldm forget` and `ldm delete` return the space themselves.';
const STREAM = 'Name the file with --stdin-name: `pg_dump app | ldm backup --stdin-name app.sql`.';
const TARGET = 'Name a directory with --target, or use --original for the paths that were backed up.';
const COUNTED = 'Use --latest, such as `ldm snapshots --latest 3`.';
const RETAIN = 'Use `ldm forget`, which has the rules for what to keep.';

/** What to use instead of an option that another backup tool has, or that people try, and the command does not have. */
export const FOREIGN_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['--archive', 'Use `ldm dump` with -a tar or -a zip.'],
  ['--cleanup-cache', 'Leave it out, or use `ldm cache` to see and remove what this machine keeps.'],
  ['--copy-chunker-params', 'Use --copy-params-from, such as `ldm init --copy-params-from /mnt/backup/ldm`.'],
  ['--dest', TARGET],
  ['--destination', TARGET],
  ['--from-repo', 'Name the source with -r and the destination with --to: `ldm copy -r FROM --to TO`.'],
  ['--in-place', TARGET],
  ['--keep-daily', RETAIN],
  ['--keep-last', RETAIN],
  ['--keep-weekly', RETAIN],
  ['--last', COUNTED],
  ['--limit', COUNTED],
  ['--list', 'Use -v, which lists what is done with each file.'],
  ['--max-unused', RETURNED],
  ['--mode', 'Leave it out: `ldm stats` prints all sizes.'],
  ['--no-lock', 'Leave it out: a repository that this user may not write to is read without a lock.'],
  ['--parent', 'Leave it out: a backup compares with the latest snapshot of the same host and paths.'],
  ['--prune', RETURNED],
  ['--repack-small', RETURNED],
  ['--stats', 'Leave it out: every command prints its figures, and `ldm stats` those of the repository.'],
  ['--stdin', STREAM],
  ['--stdin-filename', STREAM],
  ['--threshold', 'Leave it out: `ldm compact` returns all dead space.'],
  ['--yes', 'Leave it out: no command but `ldm setup` asks questions.'],
]);
