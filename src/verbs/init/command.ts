import type { Command } from 'commander';
import { Option } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CopyRules } from '../../core/format/group-list.ts';
import type { NewGroup } from '../../core/repository/groups/group-changes.ts';
import type { InitOptions } from '../../core/creating/init-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { addChunkOptions } from '../../console/options/chunk-options.ts';
import { addCopiesIfRefsOption } from '../../console/options/copies-options.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import type { Capacity } from '../../console/options/option-values.ts';
import { expandHome } from '../../console/input/paths.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import type { Session } from '../../console/session.ts';
import {
  addGroupValue,
  capacityValue,
  integerValue,
  positiveIntegerValue,
  rateValue,
  textValue,
} from '../../console/options/option-values.ts';

interface InitFlags {
  readonly chunker?: 'fastcdc' | 'fixed';
  readonly chunkSize?: number;
  readonly chunkHash?: 'sha1' | 'sha256';
  readonly packHash?: 'blake3' | 'sha256';
  readonly fpr?: number;
  readonly hashes?: number;
  readonly capacity?: Capacity;
  readonly compressionLevel?: number;
  readonly encryption: boolean;
  readonly appendOnly?: boolean;
  readonly singleWriter?: boolean;
  readonly ifMissing?: boolean;
  readonly group?: readonly NewGroup[];
  readonly copies?: number;
  readonly copiesIfRefs?: CopyRules['copiesIfRefs'];
  readonly copyParamsFrom?: string;
  readonly realm?: string;
  readonly realmPasswordFile?: string;
  readonly realmPasswordCommand?: string;
  readonly fromPasswordFile?: string;
  readonly fromPasswordCommand?: string;
}

const DETAILS = `
--copy-params-from takes from another repository what is not given here: chunker, hashes, filter and compression. If both
are encrypted, or both are not, they also share the secret keys of chunk ids and chunk boundaries, so that \`ldm copy\`
between them need not cut files again.

--realm takes chunker, chunk hash and keys from a file that \`ldm realm create\` wrote. Only a repository that was created
with it can join the realm later.`;

const EXAMPLES: readonly (readonly [command: string, purpose: string])[] = [
  ['ldm init -r /mnt/disk/backup', 'a repository on another disk'],
  ['ldm init --group a=/mnt/a --group b=/mnt/b', 'a repository with its data on two disks'],
  ['ldm init --group a=/mnt/a --group b=/mnt/b --copies 2', 'the same, with all data on both'],
  ['ldm init --if-missing', 'in a script that sets up a machine'],
  ['ldm init -r /mnt/second/ldm --copy-params-from /mnt/backup/ldm', 'a place for copies of snapshots'],
  ['ldm init -r /mnt/a --realm ~/work.realm', 'a repository that can find data in others of the realm'],
  ['ldm init --chunker fixed --chunk-size 64MiB --capacity 40GiB --hashes 7', 'files split into chunks of equal size'],
];

export function defineInit(program: Command, runner: CommandRunner): void {
  const command = program
    .command('init')
    .description('Create a repository. With -v, print how it stores data and the plan of its LDM filter.')
    .option('--if-missing', 'succeed without a change if there is a repository already')
    .option('--no-encryption', 'do not encrypt: anyone who can read the repository can read its contents')
    .option(
      '--append-only',
      'refuse to delete anything unless overridden; only the storage can enforce this (docs/automation.md)',
    )
    .option('--single-writer', 'accept a server on which clients cannot exclude each other (docs/remote.md)')
    .option(
      '--group <name=place>',
      'keep the contents of files in this place; may be repeated (see ldm group)',
      addGroupValue,
    )
    .option('--copies <n>', 'keep each piece of data in n of the groups (default: 1)', positiveIntegerValue);
  addRealmOptions(addCopiesIfRefsOption(command))
    .option('--copy-params-from <place>', 'take the parameters of another repository', textValue)
    .option('--from-password-file <file>', 'the password of that repository (default: the same source as for this one)')
    .option('--from-password-command <command>', 'take the password of that repository from what this command prints')
    .optionsGroup('Advanced options:');
  addChunkOptions(command)
    .addOption(
      new Option('--pack-hash <name>', 'hash function for pack names (default: blake3)').choices(['blake3', 'sha256']),
    )
    .option('--fpr <rate>', 'highest false positive rate of the filter, such as 0.01', rateValue)
    .option('--hashes <k>', 'number of hash functions', positiveIntegerValue)
    .option('--capacity <n>', 'initial capacity of the filter, in chunks or as a size: 100000 or 40GiB', capacityValue)
    .option('--compression-level <level>', 'zstd level, from -7 to 22 (default: 2)', integerValue)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: EXAMPLES,
      }),
    )
    .action(
      runner.inSession(async (session, flags: InitFlags) => {
        const [{ initRepository, initRepositoryIfMissing }, { reportExisting, reportInit }] = await Promise.all([
          import('../../core/creating/init.ts'),
          import('../../console/reports/init-report.ts'),
        ]);
        const options = await optionsOf(session, flags);
        if (flags.ifMissing !== true) {
          reportInit(session, await initRepository(session.context, options));
          return EXIT_SUCCESS;
        }
        const outcome = await initRepositoryIfMissing(session.context, options);
        if (outcome.isNew) reportInit(session, outcome.created);
        else reportExisting(session, outcome.existing);
        return EXIT_SUCCESS;
      }),
    );
}

function addRealmOptions(command: Command): Command {
  return command
    .option('--realm <file>', 'take the keys of chunk ids of this realm key file (see ldm realm)', textValue)
    .option('--realm-password-file <file>', 'the password of that file, if it is sealed; default: ask on the terminal')
    .option('--realm-password-command <command>', 'take the password of that file from what this command prints');
}

async function optionsOf(session: Session, flags: InitFlags): Promise<InitOptions> {
  const [{ chunkerOf, capacityOf }, { resolveLocation }] = await Promise.all([
    import('../../console/options/chunker-options.ts'),
    import('../../console/settings/settings.ts'),
  ]);
  const { chunkSize, chunkHash, packHash, fpr, hashes, compressionLevel, appendOnly, singleWriter, copyParamsFrom } =
    flags;
  const isPlain = !flags.encryption || session.isPlain;
  if (isPlain && session.context.password?.isForThisRepository === true) {
    throw new UsageError('--no-encryption and a password cannot be combined');
  }
  const isCut = flags.chunker !== undefined || chunkSize !== undefined || chunkHash !== undefined;
  if (isCut && copyParamsFrom !== undefined) {
    throw new UsageError('--copy-params-from excludes --chunker, --chunk-size and --chunk-hash');
  }
  if (flags.capacity !== undefined && 'sizeBytes' in flags.capacity && copyParamsFrom !== undefined) {
    throw new UsageError('--capacity cannot be a size with --copy-params-from', { hint: 'Give a number of chunks.' });
  }
  const realm = realmOf(session, flags);
  const chunker =
    (copyParamsFrom ?? realm) === undefined ? chunkerOf(flags.chunker ?? 'fastcdc', chunkSize) : undefined;
  const capacity = flags.capacity && capacityOf(flags.capacity, chunker ?? chunkerOf('fastcdc', undefined));
  const passwordOptions = { passwordFile: flags.fromPasswordFile, passwordCommand: flags.fromPasswordCommand };
  const copyParametersFrom =
    copyParamsFrom === undefined ? undefined : await session.openOther(copyParamsFrom, passwordOptions, '--from-');
  const encryption = isPlain ? ('never' as const) : ('always' as const);
  const given = {
    chunker,
    chunkHash,
    packHash,
    fpr,
    hashes,
    capacity,
    compressionLevel,
    encryption,
    appendOnly,
    singleWriter,
  };
  const { copies, copiesIfRefs } = flags;
  if (flags.group === undefined && (copies ?? copiesIfRefs) !== undefined) {
    throw new UsageError('--copies and --copies-if-refs need --group', {
      hint: 'Name the groups that get the copies.',
    });
  }
  const groups = flags.group?.map(({ name, place }) => ({ name, place: resolveLocation(place) }));
  return omitUndefined({ ...given, realm, copyParametersFrom, groups, copies, copiesIfRefs });
}

function realmOf(session: Session, flags: InitFlags): InitOptions['realm'] {
  const { realm: file, realmPasswordFile: passwordFile, realmPasswordCommand: passwordCommand } = flags;
  if (file === undefined) {
    if ((passwordFile ?? passwordCommand) === undefined) return undefined;
    throw new UsageError('--realm-password-file and --realm-password-command need --realm');
  }
  const { chunker, chunkSize, chunkHash, copyParamsFrom, capacity } = flags;
  if ((chunker ?? chunkSize ?? chunkHash ?? copyParamsFrom) !== undefined) {
    throw new UsageError('--realm excludes --chunker, --chunk-size, --chunk-hash and --copy-params-from', {
      hint: 'All repositories of a realm have the chunker and the chunk hash that its key file says.',
    });
  }
  if (capacity !== undefined && 'sizeBytes' in capacity) {
    throw new UsageError('--capacity cannot be a size with --realm', { hint: 'Give a number of chunks.' });
  }
  const password = session.realmPassword(file, { passwordFile, passwordCommand }, '--realm-');
  return { file: pathInput(expandHome(file)), password };
}
