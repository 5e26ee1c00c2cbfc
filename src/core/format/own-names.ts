import assert from 'node:assert/strict';

import { DIRECTORIES, baseName, directoryOf } from './layout.ts';

type Directory = (typeof DIRECTORIES)[number];

const ID = '[0-9a-f]{64}';
/** A number that is not 0. */
const COMMIT = String.raw`commit-(?!0{12})\d{12}`;
const RANDOM = '[0-9a-f]{32}';
const SEQUENCE = String.raw`\d{12}`;
/** Letters, digits, dots and hyphens; `~` and two hex digits for any other byte. See `repository/lock-name.ts`. */
const LOCK_FIELD = '(?:[A-Za-z0-9.-]|~[0-9a-f]{2})*';
/** Host, machine, boot, pid namespace, pid, start time and nonce. */
const LOCK = String.raw`(?:shared|exclusive)-(?:${LOCK_FIELD}_){4}[1-9]\d{0,9}_${LOCK_FIELD}_[0-9a-f]+`;

/**
 * What a file is called in each directory of a repository, without the directory. Desktops, network file systems and
 * programs that synchronize directories leave files of their own there, and copies with other names. Whatever is called
 * anything else does not belong to ldm: it is ignored, never read and never removed.
 */
const NAMES: Readonly<Record<Directory, string>> = {
  keys: ID,
  // In the directory of its first two digits.
  packs: `([0-9a-f]{2})/\\1[0-9a-f]{62}`,
  index: `(?:${ID}|${COMMIT}|commits)`,
  snapshots: ID,
  condemned: ID,
  deleted: ID,
  'manifests.bak': ID,
  filter: `${SEQUENCE}-[0-9a-f]{8}`,
  unfinished: RANDOM,
  verified: RANDOM,
  planes: `(?:${SEQUENCE}/(?:base-${SEQUENCE}|delta-${SEQUENCE}-${SEQUENCE})|ranges/${ID})`,
  holds: `${ID}-${ID}`,
  // Named after what was set aside. ldm does not read it.
  quarantine: '.+',
  locks: `(?:${LOCK}|condemned-${ID})`,
  tmp: RANDOM,
};

const PATTERNS: ReadonlyMap<string, RegExp> = new Map(
  Object.entries(NAMES).map(([directory, name]) => [
    directory,
    new RegExp(`^${directory.replace('.', '\\.')}/${name}$`),
  ]),
);

/** Directories with files that may disappear at any time. */
const TRANSIENT: ReadonlySet<string> = new Set(['locks', 'tmp', 'unfinished', 'verified']);

/** Names that say what a file is, wherever it is: those of packs, with their copies in groups, and of checkpoints. */
const TELLING = new RegExp(
  `^(?:${ID}(?:\\.[1-9]\\d{0,8}-[0-9a-f]{8})?|${COMMIT}|${NAMES.filter}|${NAMES.holds}|${NAMES.locks}|(?:base|delta-${SEQUENCE})-${SEQUENCE})$`,
);

/** Returns whether a file in a directory of a repository has a name that ldm gives to files there. */
export function isOwnName(name: string): boolean {
  return PATTERNS.get(topOf(name))?.test(name) === true;
}

/** Returns whether a file has a name that ldm gives to files in another directory. Such a file is ignored, too. */
export function isMisplaced(name: string): boolean {
  return !isOwnName(name) && TELLING.test(baseName(name));
}

/** Returns whether ldm has files of its own in a directory: not one that another program has made in a repository. */
export function isOwnDirectory(name: string): boolean {
  if (directoryOf(name) === '') return PATTERNS.has(name);
  return /^(?:packs\/[0-9a-f]{2}|planes\/(?:\d{12}|ranges))$/.test(name);
}

/**
 * Returns whether the loss of a file of this name must be noticed. A name in `locks`, `tmp`, `unfinished` or `verified` that
 * leads to nothing is none of ours.
 */
export function mayBeDamaged(name: string): boolean {
  return !TRANSIENT.has(topOf(name));
}

function topOf(name: string): string {
  const slash = name.indexOf('/');
  return slash < 0 ? '' : name.slice(0, slash);
}

/**
 * Matches names that could leave the repository: absolute, with an empty, `.` or `..` component, or with a zero byte.
 */
const UNSAFE_NAME = /(?:^|\/)(?:\.{1,2})?(?:\/|$)|\0/;

export function assertInside(name: string): void {
  assert(!UNSAFE_NAME.test(name), `not a name below a repository: ${name}`);
}
