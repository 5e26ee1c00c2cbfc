import type { DumpResult } from './dump.ts';
import { byteListFields } from '../../console/output/byte-fields.ts';
import { displayPath } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun } from '../../console/output/words.ts';

/** Says on stderr what an archive cannot have: stdout has the archive. */
export function reportLeftOut(output: Output, { leftOut, leftOutCount, format }: DumpResult): void {
  if (leftOutCount === 0) return;
  const paths = leftOut.map((path) => displayPath(path)).join(', ');
  const message = `left out ${countNoun(leftOutCount, 'entry')} that a ${format} archive cannot have`;
  const more = leftOutCount > leftOut.length ? ', ...' : '';
  output.problem(`ldm: ${message}: ${paths}${more}`, 'notice', {
    kind: 'note',
    message,
    ...byteListFields('paths', leftOut),
    count: leftOutCount,
  });
}
