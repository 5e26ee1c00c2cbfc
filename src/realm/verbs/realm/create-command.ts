import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../../../core/errors.ts';
import { MAX_KEY_TEXT_LENGTH } from '../../../core/format/constants.ts';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { addChunkOptions } from '../../../console/options/chunk-options.ts';
import { EXIT_SUCCESS } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';
import { addNewPasswordOptions } from '../../../console/options/new-key-options.ts';
import { pathInput } from '../../../console/input/raw-arguments.ts';
import { textValue } from '../../../console/options/option-values.ts';
import type { NewPasswordFlags } from '../../../console/session.ts';

interface RealmCreateFlags extends NewPasswordFlags {
  readonly name?: string;
  readonly seal?: boolean;
  readonly encryption: boolean;
  readonly chunker?: 'fastcdc' | 'fixed';
  readonly chunkSize?: number;
  readonly chunkHash?: 'sha1' | 'sha256';
}

const DETAILS = `
The file contains the key of the chunk ids, the key of the chunker, and the parameters of the chunker. Anyone who has the
file can compute the chunk ids of any data. With access to the chunk ids of a member, this shows whether the member has
that data. The file does not open the repositories. Keep a copy of it: no repository can join without it.`;

export function defineRealmCreate(realm: Command, runner: CommandRunner): void {
  const command = realm
    .command('create')
    .description('Create a realm: writes its keys to a new file, for `ldm init --realm`.')
    .argument('<file>', 'the realm key file to write, readable for its owner only')
    .option('--name <text>', 'a name of the realm for people', nameValue)
    .option('--seal', 'seal the keys in the file under a new password')
    .option('--no-encryption', 'make a realm for repositories that are not encrypted');
  addChunkOptions(addNewPasswordOptions(command, 'ask on the terminal').optionsGroup('Advanced options:'))
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm realm create ~/work.realm --name work', 'create a realm'],
          ['ldm realm create ~/work.realm --seal', 'protect the file with a password'],
          ['ldm init -r /mnt/a --realm ~/work.realm', 'create a repository with its keys'],
        ],
      }),
    )
    .action(
      runner.inSession(async (session, file: string, flags: RealmCreateFlags) => {
        const { seal = false, newPasswordFile, newPasswordCommand } = flags;
        if (!seal && (newPasswordFile ?? newPasswordCommand) !== undefined) {
          throw new UsageError('--new-password-file and --new-password-command need --seal', {
            hint: 'Without --seal, the realm key file has no password.',
          });
        }
        const [{ createRealm }, { reportCreatedRealm }, { checkSecretFile }, { chunkerOf }] = await Promise.all([
          import('./create.ts'),
          import('./report.ts'),
          import('../../../console/output/result-file.ts'),
          import('../../../console/options/chunker-options.ts'),
        ]);
        checkSecretFile(file, session.context.backend.localDirectory);
        const passwordOptions = { passwordFile: newPasswordFile, passwordCommand: newPasswordCommand };
        const created = await createRealm({
          file: pathInput(file),
          name: flags.name,
          isEncrypted: flags.encryption && !session.isPlain,
          chunker: chunkerOf(flags.chunker ?? 'fastcdc', flags.chunkSize),
          chunkHash: flags.chunkHash,
          newPassword: seal ? session.realmPassword(file, passwordOptions, '--new-') : undefined,
        });
        reportCreatedRealm(session, created, file);
        return EXIT_SUCCESS;
      }),
    );
}

function nameValue(text: string): string {
  if (textValue(text).length <= MAX_KEY_TEXT_LENGTH) return text;
  throw new InvalidArgumentError(`Give at most ${MAX_KEY_TEXT_LENGTH} characters.`);
}
