import type { ExportKeysResult, TestPageResult } from './key-pages.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import { byteFields } from '../../console/output/byte-fields.ts';
import type { Output } from '../../console/output/output.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import { writeSecretFile } from '../../console/output/result-file.ts';
import { countNoun, formatTime } from '../../console/output/words.ts';

/** Reports `key export`: writes the page to the file, or prints it. */
export function reportExportedKeys(output: Output, result: ExportKeysResult, file: string | undefined): void {
  const page = formatPage(result);
  if (file === undefined) {
    output.line(page.trimEnd());
    return;
  }
  writeSecretFile(file, page);
  const { repositoryId, epochs } = result;
  output.complete(`Written to ${file}.`);
  output.message('summary', { repository_id: repositoryId, epochs, ...byteFields('output', recoverBytes([file])[0]!) });
  output.remark(`wrote the master key to ${escapeForTerminal(file)}: print it, then delete the file`);
}

/** A page of at most 78 columns in ASCII. Only the lines with the key begin with a number and a space. */
function formatPage({ repositoryId, location, exported, epochs, lines }: ExportKeysResult): string {
  return `MASTER KEY OF A BACKUP REPOSITORY (ldm)

Keep this page on paper, in a place that only you can reach. Anyone who has it
can read the whole repository, and changing passwords does not help.

Repository  ${repositoryId}
Place       ${escapeForTerminal(location)}
Exported    ${formatTime(exported)}
Epoch       ${epochs.join(', ')}

${lines.join('\n')}

The last group of each line is its checksum. Upper and lower case do not
matter, nor do spaces and hyphens; O is read as 0, and I and L as 1.

To verify this page, which changes nothing, run the first command and type
the lines above. If all passwords are lost, the second one sets a new one.

    ldm -r <place> key test
    ldm -r <place> key import
`;
}

/** Reports `key test`. */
export function reportTestedPage(output: Output, { repositoryId, epochs }: TestPageResult): void {
  output.message('summary', { repository_id: repositoryId, epochs });
  const keys = epochs.length === 1 ? 'the key' : countNoun(epochs.length, 'key');
  output.remark(`the page opens the repository ${repositoryId.slice(0, 10)}: ${keys} can be imported`);
}
