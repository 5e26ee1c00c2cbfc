import { displayPath } from '../../console/output/display-path.ts';
import type { ExportedMembership, MembershipAnswer } from './ask.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../../console/output/output.ts';
import { pathFields } from '../../console/output/byte-fields.ts';
import { countNoun, formatPercent } from '../../console/output/words.ts';

interface AnswerReport {
  readonly visit: (answer: MembershipAnswer) => void;
  readonly end: () => void;
  readonly absentCount: () => number;
}

/** Reports `filter test`: a line for each id as soon as it has been looked up, and a summary. */
export function createAnswerReport(output: Output, membership: ExportedMembership): AnswerReport {
  const { format, falsePositiveRate } = membership;
  const presentWord = falsePositiveRate === 0 ? 'yes' : 'maybe';
  let askedCount = 0;
  let absentCount = 0;
  return {
    visit: ({ id, isPerhapsIn, chunk }) => {
      askedCount += 1;
      absentCount += Number(!isPerhapsIn);
      const answer = isPerhapsIn ? presentWord : 'no';
      output.line(`${answer.padEnd(presentWord.length)}  ${id}${describeChunk(chunk)}`);
      const place =
        chunk === undefined ? {} : { ...pathFields(chunk.path), offset: chunk.offset, size: chunk.sizeBytes };
      const fpr = isPerhapsIn ? falsePositiveRate : 0;
      output.message('membership', { id, answer, false_positive_rate: fpr, ...place });
    },
    end: () => {
      const presentCount = askedCount - absentCount;
      output.remark(summarise(presentCount, absentCount, falsePositiveRate));
      const counts = { asked: askedCount, present: presentCount, absent: absentCount };
      output.message('summary', { format, false_positive_rate: falsePositiveRate, ...counts });
    },
    absentCount: () => absentCount,
  };
}

function describeChunk(chunk: MembershipAnswer['chunk']): string {
  if (chunk === undefined) return '';
  return `  ${displayPath(chunk.path)} at ${chunk.offset}, ${formatBytes(chunk.sizeBytes)}`;
}

function summarise(presentCount: number, absentCount: number, falsePositiveRate: number): string {
  const absent = `${countNoun(absentCount, 'id')} definitely absent`;
  if (falsePositiveRate === 0) return `${countNoun(presentCount, 'id')} present, ${absent}; exact`;
  const rate = formatPercent(falsePositiveRate);
  return `${countNoun(presentCount, 'id')} possibly present, ${absent}; an absent id gets "maybe" with a probability of ${rate}`;
}
