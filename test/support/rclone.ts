import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { memoryDirectory } from './temp-directory.ts';
import { missingTools } from './tools.ts';

/** Why there is no rclone for the test; undefined if there is one. */
export const rcloneProblem: string | undefined = missingTools('rclone') || undefined;

/** As `rclone obscure 'only for tests'` prints it. */
const OBSCURED_PASSWORD = '7lHtvMLHjL35knngsYlE274isoBWH7npjr411zaK';

/** A configuration of rclone with two remotes, `disk:` and the encrypted `secret:`, which are directories. */
export interface RcloneStage {
  readonly directory: string;
  /** The path of the configuration, for `RCLONE_CONFIG`. */
  readonly config: string;
  /** rclone with this configuration. */
  readonly command: readonly string[];
}

/** A hook, whose directories nobody removes, has to give one of its own. */
export function makeRclone(directory: string = memoryDirectory()): RcloneStage {
  const config = join(directory, 'rclone.conf');
  writeFileSync(
    config,
    [
      `[disk]\ntype = alias\nremote = ${directory}/disk`,
      `[secret]\ntype = crypt\nremote = ${directory}/secret\npassword = ${OBSCURED_PASSWORD}`,
      '',
    ].join('\n'),
  );
  return { directory, config, command: ['rclone', '--config', config] };
}
