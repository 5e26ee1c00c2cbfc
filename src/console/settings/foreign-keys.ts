/** Our keys for those of resticprofile, autorestic, borgmatic and rustic, with the table that has them. */
const OURS: readonly (readonly [theirs: string, table: string, key: string])[] = [
  ['repository repositories repository-file repo-file to', '', 'repo'],
  ['encryption-passcommand passcommand', '', 'password-command'],
  ['use-profile extends', '', 'inherit'],
  ['upload-rate-limit remote-rate-limit upload-buffer-size', '', 'limit-upload'],
  ['schedule-lock-wait restic-lock-retry-after', '', 'lock-wait'],
  ['source sources source-directories from path', 'backup', 'paths'],
  ['exclude-patterns excludes patterns glob iglob', 'backup', 'exclude'],
  ['exclude-from glob-file patterns-from', 'backup', 'exclude-file'],
  ['stdin-command', 'backup', 'stdin-from-command'],
  ['stdin stdin-filename', 'backup', 'stdin-name'],
  ['label archive-name-format tags', 'backup', 'tag'],
  ['description', 'backup', 'comment'],
  ['nice ionice ionice-class ionice-level priority schedule-priority', 'backup', 'low-priority'],
  ['keep-tags', 'forget', 'keep-tag'],
  ['snapshot-template', 'mount', 'path-template'],
  ['cron', 'run', 'schedule'],
  ['frequency checks check-before check-after', 'run', 'check-every'],
  ['run-before before-backup before-actions before-everything', 'run', 'before'],
  ['run-after run-finally after-backup after-actions after-everything', 'run', 'after'],
  ['run-after-fail on-error failure', 'run', 'failed'],
  ['success', 'run', 'succeeded'],
  ['healthchecks send-before send-after send-after-fail send-finally', 'run', 'ping'],
  ['prometheus-save-to-file prometheus-push', 'run', 'metrics-file'],
];

/** Tables of others that have another name here. */
const TABLES: readonly (readonly [theirs: string, table: string])[] = [
  ['retention retention-policy policy', 'forget'],
  ['hooks commands', 'run'],
];

const DATABASE = 'Save the output of its dump program with `stdin-from-command` in the table `backup`.';
const ITSELF = 'Leave it out: ldm does this itself.';

/** What to do about those that have no counterpart. */
const SENTENCES: readonly (readonly [theirs: string, sentence: string])[] = [
  [
    'password passphrase encryption-passphrase key',
    'A password must not be in this file, which is copied and shown to others. Put it into a file with mode 600 and name that with `password-file`, or name a program that prints it with `password-command`.',
  ],
  ['initialize init', 'Leave it out, and run `ldm init` once: a missing disk must not get a new repository.'],
  [
    'schedule-permission scheduler',
    'Leave it out: `ldm schedule add` makes a timer of the user, or, as root, of the system; --cron makes a line for cron.',
  ],
  ['schedule-log status-file log-file', 'Leave it out: `ldm log` and `ldm status` show how runs went.'],
  ['lock force-inactive-lock restic-stale-lock-age schedule-lock-mode no-lock', ITSELF],
  ['compression prune compact-threshold', ITSELF],
  ['encryption', 'Leave it out: repositories are encrypted, unless `no-encryption = true`.'],
  ['cache-dir', 'Leave it out: XDG_CACHE_HOME says where caches are.'],
  ['custom-ignorefile', 'Leave it out: the file is called .ldmignore.'],
  ['env environment', 'Set the variables where ldm is started.'],
  ['mysql-databases mariadb-databases postgresql-databases mongodb-databases sqlite-databases', DATABASE],
  ['global', 'Use [defaults], which every profile inherits.'],
];

/** A key of another table, as people write it: `keep_daily`. */
export function dashed(key: string): string {
  return key.replaceAll('_', '-').toLowerCase();
}

/**
 * Says what to use instead of a key of another tool; undefined if the key is none.
 * @param key - with dashes
 * @param profile - the table that it would be in, such as `profiles.home`
 */
export function adviceForForeignKey(key: string, profile: string, table = ''): string | undefined {
  const isNamed = ([theirs]: readonly [string, ...unknown[]]): boolean => theirs.split(' ').includes(key);
  const [, ourTable, ours] = OURS.find(isNamed) ?? [];
  // The other repository of a copy.
  if (ours === 'repo' && table === 'copy') return useKey('to', profile, table);
  if (ours !== undefined) return useKey(ours, profile, ourTable);
  const [, renamed] = TABLES.find(isNamed) ?? [];
  if (renamed !== undefined) return `Use the table [${profile}.${renamed}].`;
  return SENTENCES.find(isNamed)?.[1];
}

/** Names a key with its table. */
export function useKey(key: string, profile: string, table = ''): string {
  return `Use \`${key}\` in [${[profile, ...(table === '' ? [] : [table])].join('.')}].`;
}
