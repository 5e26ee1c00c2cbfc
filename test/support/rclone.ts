import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { temporaryDirectory } from './temp-directory.ts';
import { missingTools, runTool } from './tools.ts';

/** Why there is no rclone for the test; undefined if there is one. */
export const rcloneProblem: string | undefined = missingTools('rclone') || undefined;

/** A configuration of rclone with two remotes, `disk:` and the encrypted `secret:`, which are directories. */
export interface RcloneStage {
  readonly directory: string;
  /** The path of the configuration, for `RCLONE_CONFIG`. */
  readonly config: string;
  /** rclone with this configuration. */
  readonly command: readonly string[];
}

export function makeRclone(): RcloneStage {
  const directory = temporaryDirectory();
  const config = join(directory, 'rclone.conf');
  const password = runTool('rclone', 'obscure', 'only for tests').trim();
  writeFileSync(
    config,
    [
      `[disk]\ntype = alias\nremote = ${directory}/disk`,
      `[secret]\ntype = crypt\nremote = ${directory}/secret\npassword = ${password}`,
      '',
    ].join('\n'),
  );
  return { directory, config, command: ['rclone', '--config', config] };
}
