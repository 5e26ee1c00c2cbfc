import type { LdmError } from '../core/errors.ts';
import type { Advice, AdviceCode, SubjectAdviceCode } from '../core/util/advice.ts';

const FORGET =
  '`ldm repair` restores the manifest if its copy or the filter image still exists. To give it up, run `ldm compact --forget-lost`.';
const WITHOUT_MOUNT = 'Without a mount, read files with `ldm restore` or `ldm dump`.';
const OTHER_PLACE = 'name another place with -r or LDM_REPOSITORY';

export const HINTS: Readonly<Record<AdviceCode, string>> = {
  repair: 'Run `ldm repair`.',
  'repair-and-repeat': 'Run `ldm repair`, then this command again.',
  'repeat-or-repair': 'Run the command again. If that says the same, run `ldm repair` first.',
  'repair-keeps-good-copy': 'Run `ldm repair`, which keeps the good copy.',
  'make-room-for-repair':
    'Everything that could be restored before still can. Make that much room where the repository is, then repeat the command: it goes on with what is not repaired.',
  'make-room-or-accept-older-state':
    'Everything that could be restored before still can. Make that much room where the repository is, then repeat the command. Or repeat it with --accept-older-state, if no newer state of the repository is to come back: packs are then used as they are, without copies.',
  'check-data': 'Run `ldm check --read-data` to see what is damaged.',
  'copy-and-check':
    'The disk reports an error: see the system log. Copy the repository to a healthy disk, then run `ldm check`.',
  'check-and-repair': 'Run `ldm check`, then `ldm repair`.',
  'check-details-and-repair': 'Run `ldm check` for details, then `ldm repair`.',
  'check-data-and-repair': 'Run `ldm check --read-data` to see which files are affected, then `ldm repair`.',
  'check-removed-and-repair': 'Run `ldm check --read-data` to see what is affected, then `ldm repair`.',
  'check-repair-or-back-up':
    'Run `ldm check` to see which files are affected, then `ldm repair`. A backup of the same files stores it again.',
  'check-repair-or-name-id': 'Run `ldm check`, then `ldm repair`, or name a snapshot by its id.',
  'tell-configurations-apart':
    'One of them belongs to another repository. Move one away; `ldm check --read-data` shows whether the other is the right one.',
  'restore-or-forget-snapshot': FORGET,
  'restore-directory-or-forget-snapshot': `If it was empty, create it again. ${FORGET}`,
  'choose-other-place':
    'Name another place with -r or LDM_REPOSITORY. `ldm init` creates a repository in a new or empty directory.',
  'choose-other-destination': 'Name another repository with --to. `ldm init` creates one in a new or empty directory.',
  'mount-or-create-repository': `Mount it, or ${OTHER_PLACE}. \`ldm init\` creates a repository.`,
  'recover-lost-place': `Mount it, or ${OTHER_PLACE}. The repository there had groups: if only its own place is lost, \`ldm -r NEW group recover GROUP\` makes it again in a new directory, from the copies in its groups.`,
  'wait-for-lock': 'Try again when that process has finished, or wait for it with --lock-wait 10m.',
  'take-over-lock':
    'This machine cannot see whether that process still runs. If it does not, --lock-wait 35m takes the lock over: its heartbeat must be unchanged for 30 minutes.',
  'list-groups':
    'Make every group available, such as by mounting its disk, and run the command again. See `ldm group list`.',
  'name-group': 'See `ldm group list`.',
  'name-missing-groups':
    'Nothing was changed. A newer state may be there. Mount its disk, or name the place where the group is now; if it is lost, --allow-missing goes on without it.',
  'join-realm':
    'Join it with `ldm realm join --coordinator PLACE`. If it was a member, its file `realm` is lost: join with the same --name, and it is as before.',
  'join-again':
    'Run `ldm realm join --coordinator PLACE --name NAME` as when it joined: that writes the file again, and everything is as before. It holds no key and no data.',
  'leave-realm': 'To end its membership, use `ldm realm leave`.',
  'reach-lender':
    'See `ldm realm status`, and run the command again when the domain can be reached. `ldm adopt` copies what it keeps to this repository.',
  'release-hold':
    'Nothing was deleted. `ldm adopt` in that domain copies the data there and ends the hold. If it has nothing to copy, run `ldm realm leave` there. After that, or if its repository is lost, `ldm realm forget DOMAIN --release-holds` here ends the hold.',
  'end-damaged-hold':
    'Nothing was removed. `ldm adopt` in that domain copies the data there and ends the hold; then run this command again. If it has nothing to copy, run `ldm realm leave` there. After that, or if its repository is lost, `ldm realm forget DOMAIN --release-holds` here ends the hold.',
  'release-holds':
    'If its repository is lost for good, --release-holds gives them up. Otherwise run `ldm adopt` there first.',
  'adopt-first':
    'Copy them to this repository with `ldm adopt` first. If a domain is gone for good, `ldm backup` stores what it finds of that; delete the snapshots that need the rest.',
  'wait-or-accept-older-state':
    'Nothing was changed. If `ldm snapshots` lists everything that you expect, repeat the command with --accept-older-state, which ends what other domains keep. If not, put the newer state back. Otherwise wait until then.',
  'adopt-or-give-up':
    'Run `ldm adopt` first. If its repository is lost for good, use --release-holds; the next backup then stores what it finds of that.',
  'join-here':
    'Run `ldm realm join --coordinator PLACE` again, with --moved if it was moved here. Of a copy, use the original.',
  'say-that-it-moved':
    'If it was moved here, or the machine has another name now, add --moved. Of two copies that are both in use, each would end what others keep for the other one.',
  'leave-at-storage':
    'Nothing was changed. On the machine that stores the repository, run `ldm realm join --moved` and then `ldm realm leave`, both with -r DIRECTORY.',
  'join-at-storage':
    'Nothing was changed. Leave the realm first: on the machine that stores the repository, run `ldm realm join --moved` and then `ldm realm leave`, both with -r DIRECTORY. Then run this command again.',
  'leave-realm-there': 'Run `ldm realm leave` there.',
  'release-there': 'It has ended because the other domain no longer needs it.',
  'choose-domain-name': 'Choose another name with --name.',
  'accept-older-copies':
    'Nothing was changed. They are damaged, or of a place that was still in use after the repository had been made again. --allow-missing uses the copies of another group: what was saved only there is missing then.',
  'recover-again':
    'Two places must not use the same groups. Use only the earlier one, and remove this one; or, if the earlier one is lost by now, run `ldm group recover` again, in a new directory.',
  'add-group': 'Nothing was changed. Add another group first with `ldm group add`.',
  'change-copies': 'Nothing was changed. Add another group first, or keep fewer copies: see `ldm group copies --help`.',
  'copy-to-groups':
    'Create another repository with `ldm init --group NAME=PLACE`, and copy the snapshots to it with `ldm copy`.',
  'copy-to-realm':
    'Create another repository with `ldm init --realm FILE`, and copy the snapshots to it with `ldm copy --to`.',
  'choose-plain-realm':
    'Nothing was created. Add --no-encryption, or name another realm key file: `ldm realm create` makes one for encrypted repositories.',
  'choose-encrypted-realm':
    'Nothing was created. Encrypt the repository by leaving out --no-encryption, or name another realm key file: `ldm realm create --no-encryption` makes one for repositories that are not encrypted.',
  'accept-no-realm': 'It was not changed. To accept it, leave out --realm; or choose another place.',
  'give-realm-password': 'Give its password with --realm-password-file or --realm-password-command.',
  'import-all-archives':
    'No snapshot was made. To import several archives, one after the other in one file, add --ignore-zeros.',
  'import-any-end': 'No snapshot was made. To import what is there, add --any-end.',
  'list-snapshots': 'See `ldm snapshots`.',
  'list-deleted-snapshots': 'See `ldm snapshots --deleted`.',
  'name-snapshots': 'Name snapshots by their ids from `ldm snapshots`.',
  'name-one-snapshot': 'Give 4 or more digits of an id from `ldm snapshots`, or latest, or latest~1.',
  'choose-snapshot-to-delete':
    'Nothing was deleted. Name the snapshot by its id, or choose with --host, --path or --tag.',
  'name-tags': 'Use --set, or --add and --remove.',
  'give-retention-rule': 'Nothing was deleted. Give a rule such as --keep-daily 7 or --keep-within 90d.',
  'check-retention-rules':
    'Nothing was deleted. Check the tags and rules. --allow-empty-group deletes all snapshots of a group if that is what you want.',
  'check-size-limit':
    'Nothing was deleted. Pinned snapshots stay, and so does the newest of each host and set of paths, without --allow-empty-group. Give a larger size or unpin something.',
  'name-rewrite': 'Give --exclude or --include with a pattern, --new-host or --new-time.',
  'give-path-as-listed': 'Give the path as `ldm ls` shows it, without a leading slash.',
  'name-directory-to-compare':
    'Name the directory to compare it with, such as `ldm diff latest .`, or another snapshot.',
  'find-by-name': 'Give the path as `ldm ls` shows it, or look for the name with `ldm find`.',
  'install-fuse': `Install it, for example with \`apt install fuse3\`. ${WITHOUT_MOUNT}`,
  'read-without-mount': WITHOUT_MOUNT,
  'allow-other-in-fuse-conf':
    'Leave out --allow-other, or have an administrator add the line user_allow_other to /etc/fuse.conf.',
  'free-space-and-repeat-restore': 'Free some space and run the restore again with `--overwrite if-changed`.',
  'name-target': 'Nothing was restored. Add `--target .` if you mean it.',
  'name-target-directory':
    'Nothing was restored. Name a directory, in which a file keeps its name. To write one file under another name, use `ldm dump SNAPSHOT:PATH -o FILE`.',
  'name-directory-to-equal':
    'Name a directory of the snapshot and the directory to make equal to it: `ldm restore latest:data/docs --target DIR --delete`. With --include, only what the patterns select is deleted.',
  'name-one-target': 'Give --target or --original.',
  'name-sources': 'Name the files or directories to back up, such as `ldm backup ~/data`.',
  'give-password':
    'Give --password-file or --password-command, or set LDM_PASSWORD_FILE, LDM_PASSWORD_COMMAND or LDM_PASSWORD.',
  'type-or-give-password':
    'Nothing was changed. Run the command again and type it, or name its source with --password-file or --password-command.',
  'give-other-password':
    'Nothing was changed. Give the password of one of the keys that `ldm key list` shows, which needs none. With a page that `ldm key export` wrote, `ldm key import` sets a new one.',
  'accept-plain-destination':
    'Nothing was copied. If you mean this repository, leave its password out, or add --to-no-encryption if it is that of the other one, or of all.',
  'give-destination-password':
    'Nothing was copied. Give its password with --to-password-file or --to-password-command.',
  'give-origin-password':
    'Nothing was created. Give its password with --from-password-file or --from-password-command.',
  'override-append-only':
    'Nothing was changed. If you are allowed to do this, repeat the command with --override-append-only.',
  'accept-older-state':
    'If somebody has put an older state in its place on purpose, repeat the command with --accept-older-state. If not, put the newer state back, or wait until the listings of the server are right.',
  'recover-or-accept-older-state':
    'An older state may have been put in the place of the repository. Put the newer one back, or make it again in a new directory: `ldm -r NEW group recover GROUP`. If somebody has put the older state there on purpose, repeat the command with --accept-older-state; the next `ldm compact --accept-older-state` removes what is newer from the groups.',
  'read-copies-or-accept-older-state':
    'Put right what keeps the copies from being read, and repeat the command. The next backup replaces a damaged state, and `ldm repair --accept-older-state` other damaged files. Use this option only if you know that no older state was put in the place of the repository.',
  'leave-password-out':
    'Nothing was read or written. If you mean this repository, leave the password out, or add --no-encryption if the environment or a profile has one. To encrypt what is in it, see `ldm copy --help`.',
  'list-or-import-key':
    'If the repository is on another machine, the listing may be wrong: run the command again, or over another connection. If the files are really gone, put them back from another copy of the directory keys, or run `ldm key import` with a page that `ldm key export` wrote.',
  'import-key':
    'If you have a page that `ldm key export` wrote, run `ldm key import`. Without it and without another copy of the directory keys, nobody can read this repository.',
  'list-keys': 'See `ldm key list`.',
  'keep-another-key':
    'Another key must remain: add one with `ldm key add` and give its password, or change this one with `ldm key passwd`.',
  'archive-directory': 'Write an archive of it with `ldm dump`, or list it with `ldm ls`.',
  'archive-entry': 'Write an archive that has it with `ldm dump -a tar`.',
  'accept-unencrypted': 'It was not changed. To accept it, add --no-encryption; or choose another place.',
  'accept-encrypted': 'It was not changed. To accept it, leave out --no-encryption; or choose another place.',
  'use-single-writer':
    'If only one client at a time will ever write to it, add --single-writer. Otherwise choose another place.',
  'use-single-writer-at-init':
    'Nothing was changed. Only a repository that was created with `ldm init --single-writer` can use it. Choose another place.',
  'accept-full-access': 'It was not changed. To accept it, leave out --append-only; or choose another place.',
  'choose-origin': 'Nothing was created. Name an existing repository with --copy-params-from.',
  'give-new-password': 'Give --new-password-file or --new-password-command.',
  'use-exported-filter': 'Use a file that `ldm filter make` or `ldm filter export` wrote, or a Guava BloomFilter.',
  'use-made-filter': 'Use a file that `ldm filter make` wrote, or a Guava BloomFilter.',
};

export const HINTS_ABOUT: Readonly<Record<SubjectAdviceCode, (subject: string) => string>> = {
  'drain-group': (name) =>
    `Nothing was changed. \`ldm group drain ${name}\` moves what is in it to the other groups; then repeat the command.`,
  'give-up-offline-group': (name) =>
    `Nothing was changed. Move what can be read to the other groups with \`ldm group drain ${name}\`. To give up a disk that fails, unmount it first.`,
  'remove-offline-group': (name) =>
    `Nothing was changed. Make it available again, or, if its data is lost for good, see \`ldm group lost ${name}\`.`,
  'create-repository': (place) => `Create one with \`ldm -r ${place} init\`, or ${OTHER_PLACE}.`,
  'use-recovered': (place) =>
    `Use the repository at ${place}. If that is lost, \`ldm group recover\` makes it again in a new directory.`,
  'recover-from-group': (place) =>
    `If the place of the repository is lost, \`ldm -r NEW group recover ${place}\` makes it again in a new directory, from the copies that its groups have.`,
  'remove-empty-group': (place) =>
    `Nothing was changed. It has no data: an \`ldm init\` that was interrupted leaves that. If no repository uses it, remove the file group-id in ${place}, and run the command again.`,
  'recover-or-choose-place': (place) =>
    `Nothing was changed. If the place of that repository is lost, \`ldm -r NEW group recover ${place}\` makes it again in a new directory. If nobody needs it any more, remove the file group-id.`,
  'create-destination': (place) => `Create one with \`ldm -r ${place} init\`, or name another place with --to.`,
  'unpin-snapshot': (id) =>
    `Nothing was deleted. \`ldm unpin ${id.slice(0, 8)}\` removes the pin; then repeat the command.`,
  'undelete-snapshot': (id) => `Nothing was deleted now. \`ldm undelete ${id.slice(0, 8)}\` brings it back.`,
  'bring-back-snapshot': (id) => `\`ldm undelete ${id.slice(0, 8)}\` brings it back.`,
  'unmount-stale': (directory) => `Run \`fusermount3 -u ${directory}\`, then this command again.`,
  'import-from-base': (directory) =>
    `Nothing was saved. If the archive was made with paths relative to ${directory}, add \`--base ${directory}\`.`,
  'list-files': (id) => `List its files with \`ldm ls ${id.slice(0, 8)}\`.`,
};

/** Returns the sentence that says what to do about an error: its own, or the commands and options that help. */
export function hintFor({ hint, advice }: LdmError): string | undefined {
  return hint ?? (advice === undefined ? undefined : hintOf(advice));
}

/** Returns the commands and options that help. */
export function hintOf(advice: Advice): string {
  return 'subject' in advice ? HINTS_ABOUT[advice.code](advice.subject) : HINTS[advice.code];
}
