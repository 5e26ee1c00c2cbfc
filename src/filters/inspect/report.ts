import type { ChainStatistics } from '../../core/ldm/chain-statistics.ts';
import type { InspectResult } from './inspect.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../../console/output/output.ts';
import { formatBar, formatSection, formatTable } from '../../console/output/tables.ts';
import { countNoun, formatCount, formatMeasured, formatPercent } from '../../console/output/words.ts';
import { chainFields } from '../../console/reports/chain-fields.ts';

const BAR_WIDTH = 40;

/** Reports `filter inspect`: figures of the filter, and its histograms beside those expected for uniform hashing. */
export function reportInspection(output: Output, result: InspectResult): void {
  output.message('inspection', inspectionFields(result));
  if (output.json) return;
  const { statistics, countersExpected, chainsExpected, savedChainsExpected, walkedChainsExpected } = result;
  const sections = [
    describeFilter(result),
    describeRates(result),
    describeGrowth(result),
    formatHistogram({
      heading: 'Counters',
      value: 'value',
      places: 'positions',
      counts: statistics.counterHistogram,
      expected: countersExpected,
    }),
    formatHistogram({
      heading: 'Chains by link position, as the LDM paper defines them',
      value: 'length',
      places: 'positions',
      counts: statistics.chains.histogram,
      expected: chainsExpected,
    }),
    formatHistogram({
      heading: 'Chains as saved: neighbouring link positions share a head',
      value: 'length',
      places: 'heads',
      counts: statistics.savedChains.histogram,
      expected: savedChainsExpected,
    }),
    formatHistogram({
      heading: 'Chains as walked: in memory, two neighbouring chains share a head',
      value: 'length',
      places: 'heads',
      counts: statistics.walkedChains.histogram,
      expected: walkedChainsExpected,
    }),
  ];
  output.line(sections.join('\n\n'));
}

function describeFilter({ statistics, deadElements }: InspectResult): string {
  const { elements, capacity, positions, hashes, fillRatio, chains, savedChains, walkedChains } = statistics;
  return formatSection('LDM filter', [
    ['live chunks (n)', `${formatCount(elements)} of ${formatCount(capacity)} (${formatPercent(elements / capacity)})`],
    ['dead chunks', `${formatCount(deadElements)}, outside the counters`],
    ['positions (m)', formatCount(positions)],
    ['hash functions (k)', String(hashes)],
    ['fill', `${formatPercent(fillRatio)} of the counters are not 0`],
    ['counters', `${statistics.counterBits} bits, ${formatCount(statistics.saturated)} saturated`],
    ['chains by link position', describeLengths(chains)],
    ['chains as saved', describeLengths(savedChains)],
    ['chains as walked', describeLengths(walkedChains)],
    ['memory', formatBytes(statistics.memoryBytes)],
  ]);
}

function describeLengths({ count, mean, max, meanVisited }: ChainStatistics): string {
  return `${formatCount(count)}, mean length ${mean.toFixed(2)}, longest ${max}, ${meanVisited.toFixed(2)} chunks visited per hit`;
}

function describeRates({ plan, statistics }: InspectResult): string {
  const { count, seed } = statistics.fprProbes;
  const measured = formatMeasured(statistics.fprMeasured, count, ' absent ids');
  return formatSection('False positive rate', [
    ['now, predicted', formatPercent(statistics.fprPredicted)],
    ['now, measured', `${measured}, seed ${seed}`],
    ['at n_max', formatPercent(plan.fprPredicted)],
    ['never exceeded', formatPercent(plan.fprTarget)],
  ]);
}

function describeGrowth({ elementsUntilGrowth, nextPlan }: InspectResult): string {
  if (nextPlan === undefined) return formatSection('Growth', [['next', 'never: the filter has its maximum size']]);
  return formatSection('Growth', [
    ['next', `after ${countNoun(elementsUntilGrowth, 'more chunk')}`],
    [
      'to',
      `${formatCount(nextPlan.capacity)} chunks, ${formatCount(nextPlan.positions)} positions; more if one backup needs it`,
    ],
  ]);
}

interface Histogram {
  readonly heading: string;
  /** The quantity that is counted. */
  readonly value: string;
  /** The places where it is counted. */
  readonly places: string;
  /** The number of places for each value. */
  readonly counts: readonly number[];
  readonly expected: readonly number[];
}

/** From the first value that occurs or is expected to the last value that occurs. */
function formatHistogram({ heading, value, places, counts, expected }: Histogram): string {
  const last = counts.findLastIndex((count) => count > 0);
  if (last < 0) return `${heading}\n  none`;
  const largest = Math.max(...counts);
  const rows = counts.slice(0, last + 1).map((count, at) => {
    return [String(at), formatCount(count), formatExpected(expected[at]!), formatBar(count, largest, BAR_WIDTH)];
  });
  const shown = expected[0] === 0 && counts[0] === 0 ? rows.slice(1) : rows;
  const head = [value, places, 'by theory', ''];
  return `${heading}\n${formatTable(shown, { head, rightAligned: [0, 1, 2], indent: '  ' })}`;
}

/** Whole numbers, or two digits below 1. */
function formatExpected(expected: number): string {
  return expected >= 1 ? formatCount(Math.round(expected)) : String(Number(expected.toPrecision(2)));
}

function inspectionFields(result: InspectResult): Record<string, unknown> {
  const { statistics, plan, nextPlan } = result;
  return {
    elements: statistics.elements,
    dead_elements: result.deadElements,
    capacity: plan.capacity,
    positions: plan.positions,
    hashes: plan.hashes,
    fill_ratio: statistics.fillRatio,
    memory_bytes: statistics.memoryBytes,
    fpr_predicted: statistics.fprPredicted,
    fpr_measured: statistics.fprMeasured,
    fpr_probes: statistics.fprProbes,
    fpr_at_capacity: plan.fprPredicted,
    fpr_target: plan.fprTarget,
    elements_until_growth: result.elementsUntilGrowth,
    next_capacity: nextPlan?.capacity,
    next_positions: nextPlan?.positions,
    counter_bits: statistics.counterBits,
    saturated: statistics.saturated,
    counters: { histogram: statistics.counterHistogram, expected: result.countersExpected },
    chains: { ...chainFields(statistics.chains), expected: result.chainsExpected },
    saved_chains: { ...chainFields(statistics.savedChains), expected: result.savedChainsExpected },
    walked_chains: { ...chainFields(statistics.walkedChains), expected: result.walkedChainsExpected },
  };
}
