import type { Command } from 'commander';
import { Option } from 'commander';
import { sizeValue } from './option-values.ts';

/** Adds the options that decide how files are split and chunks are named. Repositories of a realm have them in common. */
export function addChunkOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--chunker <kind>', 'how files are split into chunks (default: fastcdc)').choices([
        'fastcdc',
        'fixed',
      ]),
    )
    .option(
      '--chunk-size <size>',
      'average size (fastcdc, default 1MiB) or exact size (fixed, default 64MiB)',
      sizeValue,
    )
    .addOption(
      new Option('--chunk-hash <name>', 'hash function for chunk ids (default: sha1)').choices(['sha1', 'sha256']),
    );
}
