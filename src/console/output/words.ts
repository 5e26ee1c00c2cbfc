export { formatTime } from '../../core/util/format-time.ts';

const SHORT_ID_LENGTH = 8;

/** The displayed part of the id of a snapshot. */
export function shortId(id: string): string {
  return id.slice(0, SHORT_ID_LENGTH);
}

export function formatCount(value: number): string {
  // Loading the locales for the first number takes 11 ms.
  return Number.isSafeInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ',') : value.toLocaleString('en-US');
}

/** `1 file`, `2 files`, `2 directories` */
export function countNoun(value: number, noun: string): string {
  return `${formatCount(value)} ${value === 1 ? noun : pluralOf(noun)}`;
}

function pluralOf(noun: string): string {
  if (noun.endsWith('x')) return `${noun}es`;
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** Formats a fraction as a percentage: `12.3 %`, `0.78 %`, `0.0012 %`. */
export function formatPercent(share: number): string {
  const percent = share * 100;
  if (percent === 0 || percent >= 10) return `${percent.toFixed(1)} %`;
  return `${Number(percent.toPrecision(2))} %`;
}

/**
 * A share of `count` probes that was measured: `0.5 %`, or, if none of them was positive, `none of 262,144 (below 0.0012
 * %)`, with the upper limit 3 / count, which holds with a confidence of 95 %. With `noun`, it names the probes.
 */
export function formatMeasured(share: number, count: number, noun = ''): string {
  const probes = `${formatCount(count)}${noun}`;
  if (share > 0) return noun === '' ? formatPercent(share) : `${formatPercent(share)} of ${probes}`;
  const limitPercent = 300 / count;
  const unit = 10 ** (Math.floor(Math.log10(limitPercent)) - 1);
  return `none of ${probes} (below ${Number((Math.ceil(limitPercent / unit) * unit).toPrecision(2))} %)`;
}

/** `2.50 x`. A ratio of nothing is not a number. */
export function formatRatio(ratio: number): string {
  return Number.isFinite(ratio) && ratio > 0 ? `${ratio.toFixed(2)} x` : '-';
}

/** Quotes a word for a shell if it needs that. */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
