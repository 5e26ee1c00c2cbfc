import type { LocateResult } from './locate.ts';
import { byteStringFromBytes } from '../../../core/util/byte-string.ts';
import { formatBytes } from '../../../core/util/format-bytes.ts';
import { formatTime } from '../../../core/util/format-time.ts';
import { byteFields } from '../../../console/output/byte-fields.ts';
import { displayPath } from '../../../console/output/display-path.ts';
import { countNoun, formatCount } from '../../../console/output/words.ts';

type DomainRange = LocateResult['ranges'][number];
type Span = NonNullable<DomainRange['span']>;

const MAYBE = 'may have files in the range';
const NONE = 'has none in the range, as it has published';
const LEFT_OUT = 'left out unless no other domain has a chunk';
const UNKNOWN = 'has published nothing about the files that it has now';

/** What the other domains have published about a range of their files, in words and as fields of a message. */
export class RangeReport {
  readonly #ranges: LocateResult['ranges'];

  readonly #hasTarget: boolean;

  /** `hasTarget`: chunks are sought, and the ranges only decide which domains are asked. */
  constructor(ranges: LocateResult['ranges'], hasTarget: boolean) {
    this.#ranges = ranges;
    this.#hasTarget = hasTarget;
  }

  get lines(): string[] {
    return this.#ranges.flatMap(({ domain, verdict, boxes = 0, span }) => {
      const line = (text: string): string => `${domain.member.name}: ${text}`;
      if (verdict === 'none') return [line(this.#hasTarget ? `${NONE}; ${LEFT_OUT}` : NONE)];
      if (span === undefined) return [line(this.#hasTarget ? UNKNOWN : `${UNKNOWN} (ldm realm publish --ranges)`)];
      const maybe = `${MAYBE}, in ${formatCount(span.leaves)} of its ${countNoun(boxes, 'box')}`;
      return this.#hasTarget ? [line(maybe)] : [line(maybe), ...linesOf(span)];
    });
  }

  /** One line about all domains. */
  get summary(): string {
    const count = (verdict: DomainRange['verdict']): number =>
      this.#ranges.filter((each) => each.verdict === verdict).length;
    if (this.#ranges.length === 0) return 'the realm has no other domain';
    const others = countNoun(this.#ranges.length, 'other domain');
    const unknown = count('unknown');
    const rest = unknown === 0 ? '' : `, and of ${formatCount(unknown)} it is not known`;
    return `${formatCount(count('maybe'))} of ${others} may have files in the range${rest}`;
  }

  get fields(): Record<string, unknown>[] {
    return this.#ranges.map(({ domain, verdict, boxes, span }) => ({
      domain: domain.member.name,
      domain_id: domain.id,
      verdict,
      boxes,
      overlapping: span?.leaves,
      span: span && spanFields(span),
    }));
  }
}

/** What is around the files of the boxes, of which not all need to be in the range. */
function linesOf({ timeMs, path, sizeBytes }: Span): string[] {
  const [from, to] = timeMs.map((time) => formatTime(timeOf(time)));
  const [first, last] = path.map((each) => displayPath(byteStringFromBytes(each)));
  return [
    `  modified ${from} to ${to}`,
    `  size     ${formatBytes(sizeBytes[0])} to ${formatBytes(sizeBytes[1])}`,
    `  path     ${first} to ${last}`,
  ];
}

function spanFields({ timeMs, path, sizeBytes }: Span): Record<string, unknown> {
  return {
    time_from: timeOf(timeMs[0]),
    time_to: timeOf(timeMs[1]),
    size_from: sizeBytes[0],
    size_to: sizeBytes[1],
    ...byteFields('path_first', byteStringFromBytes(path[0])),
    ...byteFields('path_last', byteStringFromBytes(path[1])),
  };
}

/** Some file systems have times beyond those that a `Date` can have. */
const DATE_LIMIT_MS = 8.64e15;

function timeOf(timeMs: number): string {
  return new Date(Math.max(-DATE_LIMIT_MS, Math.min(timeMs, DATE_LIMIT_MS))).toISOString();
}
