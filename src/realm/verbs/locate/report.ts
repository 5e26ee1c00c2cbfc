import { EXIT_ABSENT, EXIT_FAILURE, EXIT_SUCCESS } from '../../../console/exit-codes.ts';
import type { KnownChunk } from '../../agents/peer.ts';
import type { LocateResult, LocatedChunk } from './locate.ts';
import { formatBytes } from '../../../core/util/format-bytes.ts';
import type { Output } from '../../../console/output/output.ts';
import { countNoun, formatCount } from '../../../console/output/words.ts';

const SHOWN_SNAPSHOTS_MAX = 8;

const RANGE_TEXTS = {
  maybe: 'may have files in the range',
  none: 'has none in the range, as it has published; left out unless nobody else has a chunk',
  unknown: 'has published nothing about the files that it has now',
} as const;

/** Reports `locate`: each chunk with all its places, and a summary. */
export class LocateReport {
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  readonly visit = (chunk: LocatedChunk): void => {
    const { id, own, elsewhere, unanswered, verdict, offset, snapshotIds, explanation } = chunk;
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
      },
    });
  };

  finish(result: LocateResult): void {
    const { chunks, absent, unknown, questions, ranges } = result;
    for (const { domain, verdict } of ranges) this.#output.line(`${domain.member.name}: ${RANGE_TEXTS[verdict]}`);
    const rangeFields = ranges.map(({ domain, verdict }) => ({ ...namesOf(domain), verdict }));
    this.#output.message('summary', {
      chunks,
      absent,
      undetermined: unknown,
      questions,
      ranges: rangeFields,
    });
    const parts = [countNoun(chunks, 'chunk')];
    if (absent > 0) parts.push(`${formatCount(absent)} absent`);
    if (unknown > 0) parts.push(`${formatCount(unknown)} unknown: a domain did not answer`);
    if (questions > 0) parts.push(`${countNoun(questions, 'question')} to other domains`);
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

function namesOf({ id, member }: LocatedChunk['elsewhere'][number]['domain']): Record<string, unknown> {
  return { domain: member.name, domain_id: id };
}

function fieldsOf({ packId, blockOffset, offsetInBlock, lengthBytes, refs }: KnownChunk): Record<string, unknown> {
  return { pack: packId, block_offset: blockOffset, offset_in_block: offsetInBlock, length: lengthBytes, refs };
}

/** Only if every chunk was found, or certainly is nowhere, something certain can be said. */
export function exitCodeOfLocate({ absent, unknown }: Pick<LocateResult, 'absent' | 'unknown'>): number {
  if (absent > 0) return EXIT_ABSENT;
  return unknown > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
