/** What to use instead of a command that restic, borg or kopia has and ldm does not have. */
export const FOREIGN_COMMANDS: ReadonlyMap<string, string> = new Map([
  ['break-lock', 'Nobody has to unlock anything: abandoned locks are recognized.'],
  ['cat', 'Restore the file: `ldm restore latest:PATH --target DIRECTORY`.'],
  ['create', 'Use `ldm backup` to save files, and `ldm init` to create a repository.'],
  ['dump', 'Restore the file: `ldm restore latest:PATH --target DIRECTORY`.'],
  ['extract', 'Use `ldm restore`.'],
  ['forget', 'Use `ldm delete`, which also frees the space. There are no retention rules yet.'],
  ['info', 'Use `ldm stats`, or `ldm snapshots`.'],
  ['list', 'Use `ldm snapshots`, or `ldm ls` for the files of a snapshot.'],
  ['maintenance', 'Use `ldm compact`; `ldm delete` already frees the space.'],
  ['prune', 'Use `ldm compact`; `ldm delete` already frees the space.'],
  ['rebuild-index', 'Use `ldm repair`.'],
  ['recover', 'Use `ldm repair`, or `ldm undelete` after `ldm delete --no-reclaim`.'],
  ['snapshot', 'Use `ldm backup` to make a snapshot, and `ldm snapshots` to list them.'],
  ['unlock', 'Nobody has to unlock anything: abandoned locks are recognized.'],
  ['verify', 'Use `ldm check`.'],
]);
