import { EXIT_ABSENT, EXIT_FAILURE, EXIT_INCOMPLETE, EXIT_SUCCESS } from '../../../console/exit-codes.ts';
import type { KnownChunk } from '../../agents/peer.ts';
import type { LocateResult, LocatedChunk, LocatedFile } from './locate.ts';
import { RangeReport } from './range-report.ts';
import type { PlaneAnswer } from './look-up.ts';
import { pathFields } from '../../../console/output/byte-fields.ts';
import { displayPath } from '../../../console/output/display-path.ts';
import { formatBytes } from '../../../core/util/format-bytes.ts';
import type { Output } from '../../../console/output/output.ts';
import { countNoun, formatCount } from '../../../console/output/words.ts';

const SHOWN_SNAPSHOTS_MAX = 8;

const SAID_TEXTS = { maybe: 'maybe', no: 'no', unknown: 'unknown, as its plane is not there' } as const;

/** Reports `locate`: each chunk with all its places, or each file of a directory in a line, and a summary. */
export class LocateReport {
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  readonly visit = (chunk: LocatedChunk): void => {
    const { id, own, elsewhere, unanswered, verdict, offset, snapshotIds, explanation, planes } = chunk;
    const hex = Buffer.from(id).toString('hex');
    const line = (text: string): void => this.#output.line(text);
    line(offset === undefined ? hex : `${hex}  at ${formatCount(offset)}`);
    if (own !== undefined) {
      line(`  here     ${describe(own)}`);
    }
    if (own !== undefined || snapshotIds.length > 0) line(`  needed   ${describeSnapshots(snapshotIds)}`);
    for (const { domain, place, isRemembered } of elsewhere) {
      const age = isRemembered ? ', as it said in the last 10 minutes' : '';
      line(`  ${domain.member.name.padEnd(8)} ${describe(place)}${age}`);
    }
    for (const [domain, reason] of unanswered) line(`  ${domain.padEnd(8)} unknown: ${reason}`);
    if (verdict === 'absent') line('  in no domain');
    if (explanation !== undefined) this.#explain(explanation);
    if (planes !== undefined) line(`  planes   ${describePlanes(planes)}`);
    this.#output.message('chunk', {
      id: hex,
      offset,
      verdict,
      own: own && fieldsOf(own),
      elsewhere: elsewhere.map(({ domain, place, isRemembered }) => ({
        ...namesOf(domain),
        ...fieldsOf(place),
        remembered: isRemembered,
      })),
      unanswered: [...unanswered].map(([domain, reason]) => ({ domain, reason })),
      snapshots: snapshotIds,
      explanation: explanation && {
        m: explanation.positions,
        k: explanation.hashes,
        counters: explanation.counters,
        link: explanation.link,
        chain: explanation.chain,
        planes: (planes ?? []).map(({ domain, said, isLeftOut }) => ({
          ...namesOf(domain),
          said,
          left_out: isLeftOut,
        })),
      },
    });
  };

  readonly visitFile = ({ path, chunks, here, elsewhere, absent, unknown }: LocatedFile): void => {
    const others = [...elsewhere].map(([id, { name, chunks: count }]) => ({
      domain: name,
      domain_id: id,
      chunks: count,
    }));
    this.#output.message('file', {
      ...pathFields(path),
      chunks,
      here,
      elsewhere: others,
      absent,
      undetermined: unknown,
    });
    const places = [
      ...countsAt('here', here),
      ...others.flatMap(({ domain, chunks: count }) => countsAt(`in ${domain}`, count)),
      ...countsAt('in no domain', absent),
      ...countsAt('unknown', unknown),
    ];
    const text = chunks === 0 ? 'empty' : `${countNoun(chunks, 'chunk')}: ${places.join(', ')}`;
    this.#output.line(`${displayPath(path)}  ${text}`);
  };

  /** `hasTarget`: chunks were sought, and not only domains with files in a range. */
  finish(result: LocateResult, hasTarget: boolean): void {
    const { chunks, absent, unknown, files, questions, ranges } = result;
    const rangeReport = new RangeReport(ranges, hasTarget);
    for (const line of rangeReport.lines) this.#output.line(line);
    this.#output.message('summary', {
      ...(files === undefined ? {} : { files: files.read, unreadable: files.unreadable }),
      chunks,
      absent,
      undetermined: unknown,
      questions,
      ranges: rangeReport.fields,
    });
    if (!hasTarget) return this.#output.remark(rangeReport.summary);
    const parts = files === undefined ? [] : [countNoun(files.read, 'file')];
    parts.push(countNoun(chunks, 'chunk'));
    if (absent > 0) parts.push(`${formatCount(absent)} absent`);
    if (unknown > 0) parts.push(`${formatCount(unknown)} unknown: a domain did not answer`);
    if (questions > 0) parts.push(`${countNoun(questions, 'question')} to other domains`);
    if (files !== undefined && files.unreadable > 0)
      parts.push(`${countNoun(files.unreadable, 'path')} could not be read`);
    this.#output.remark(parts.join(', '));
  }

  #explain({
    positions,
    hashes,
    counters,
    link,
    isCertainlyAbsent,
    chain,
  }: NonNullable<LocatedChunk['explanation']>): void {
    const line = (text: string): void => this.#output.line(text);
    line(`  filter   m = ${formatCount(positions)}, k = ${hashes}`);
    line(`  counters ${counters.map(({ position, counter }) => `${position}: ${counter}`).join(', ')}`);
    line(`  link     ${link}`);
    const walked = chain.map(({ id, link: at }) => `${id.slice(0, 10)} (link ${at})`).join(', ');
    const empty = isCertainlyAbsent ? 'nothing: a counter is 0' : 'nothing: the chain is empty';
    line(`  compared ${walked === '' ? empty : walked}`);
  }
}

function countsAt(place: string, count: number): string[] {
  return count === 0 ? [] : [`${formatCount(count)} ${place}`];
}

/** `a: maybe, b: no`; which domains are asked first, and which only if none of these has the chunk. */
function describePlanes(planes: readonly PlaneAnswer[]): string {
  if (planes.length === 0) return 'of no other domain';
  return planes
    .map(
      ({ domain, said, isLeftOut }) =>
        `${domain.member.name}: ${SAID_TEXTS[said]}${isLeftOut ? ', left out by the range' : ''}`,
    )
    .join(', ');
}

function describe({ packId, blockOffset, offsetInBlock, lengthBytes, refs }: KnownChunk): string {
  const place = `pack ${packId.slice(0, 10)}, block at ${blockOffset}, offset ${offsetInBlock}`;
  return `${place}, ${formatBytes(lengthBytes)}, ${countNoun(refs, 'reference')}`;
}

function describeSnapshots(ids: readonly string[]): string {
  if (ids.length === 0) return 'by no snapshot';
  const shown = ids.slice(0, SHOWN_SNAPSHOTS_MAX).map((id) => id.slice(0, 8));
  const rest = ids.length - shown.length;
  return `by ${countNoun(ids.length, 'snapshot')}: ${shown.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`;
}

function namesOf({ id, member }: PlaneAnswer['domain']): Record<string, unknown> {
  return { domain: member.name, domain_id: id };
}

function fieldsOf({ packId, blockOffset, offsetInBlock, lengthBytes, refs }: KnownChunk): Record<string, unknown> {
  return { pack: packId, block_offset: blockOffset, offset_in_block: offsetInBlock, length: lengthBytes, refs };
}

/**
 * Only if every chunk was found, or certainly is nowhere, something certain can be said. What could not be read counts less
 * than what was not found.
 */
export function exitCodeOfLocate({
  absent,
  unknown,
  files,
}: Pick<LocateResult, 'absent' | 'unknown' | 'files'>): number {
  if (absent > 0) return EXIT_ABSENT;
  if (unknown > 0) return EXIT_FAILURE;
  return (files?.unreadable ?? 0) > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
}
