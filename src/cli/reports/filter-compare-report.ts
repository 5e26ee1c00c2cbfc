import type {
  CompareOptions,
  CompareResult,
  Fill,
  Recommendation,
  StructureResult,
} from '../../operations/filter/compare.ts';
import type { Output } from '../output.ts';
import { formatTable } from '../tables.ts';
import { formatCount } from '../words.ts';
import { adviceFields, settingFields, structureFields } from './filter-compare-fields.ts';

/** What will be measured; said before the work, which may take minutes. */
export function reportSettings(output: Output, { elements, falsePositiveRate, seed }: CompareOptions): void {
  const rate = formatRate(falsePositiveRate);
  output.line(`seed ${seed}, n = ${formatCount(elements)} random ids of 20 bytes, made for a rate of ${rate}`);
  output.flush();
}

/** `filter compare`: what is the same on every machine first, then times, then the verdict. */
export function reportComparison(output: Output, options: CompareOptions, result: CompareResult): void {
  output.message('summary', { ...settingFields(options), recommendations: result.recommendations.map(adviceFields) });
  if (output.json) return;
  output.line('');
  output.line(describeRates(result.structures, options.elements));
  output.line('');
  output.line(describeTimes(result.structures));
  output.line('');
  output.line(describeAdvice(result.recommendations));
}

/** One structure as a JSON line, as soon as it is measured. */
export function reportStructure(output: Output, options: CompareOptions, result: StructureResult): void {
  output.message('structure', { ...settingFields(options), ...structureFields(result) });
  output.flush();
}

function describeRates(structures: readonly StructureResult[], elements: number): string {
  const rows = structures.map((structure) => [
    structure.name,
    ...fillCells(structure.full),
    ...growthCells(structure, elements),
    ...(structure.halved === undefined
      ? ['-', 'cannot delete']
      : [formatRate(structure.halved.measuredRate), lostWords(structure.halved)]),
  ]);
  const head = [
    'structure',
    'bits/el.',
    'FPR',
    'measured',
    'bits/el. at 2n',
    'FPR',
    'given 2n',
    'FPR at n/2',
    'after deletes',
  ];
  const notes = structures.flatMap((result) => [...describeCounters(result), ...describeMissed(result)]).join('');
  return `The same on every machine\n${formatTable(rows, { head, rightAligned: [1, 2, 3, 4, 5, 7], indent: '  ' })}${notes}`;
}

/** An exact structure has no false positives, but its counters have, and those cost a look at a chain. */
function describeCounters({ name, full: { counters } }: StructureResult): string[] {
  if (counters === undefined) return [];
  const [predicted, measured] = [counters.predictedRate, counters.measuredRate].map(formatRate);
  return [
    `\n  ${name} is exact; its filter alone would say "perhaps" to ${measured} of the absent ids (${predicted} predicted)`,
  ];
}

/** What no structure may do. */
function describeMissed({ name, full, growth }: StructureResult): string[] {
  const missed = full.falseNegatives + growth.falseNegatives;
  return missed === 0 ? [] : [`\n  ${name} MISSED ${formatCount(missed)} ids that are in`];
}

function fillCells(fill: Fill): string[] {
  return [fill.bitsPerElement.toFixed(2), formatRate(fill.predictedRate), formatRate(fill.measuredRate)];
}

function growthCells(result: StructureResult, elements: number): string[] {
  const { growth } = result;
  return [growth.bitsPerElement.toFixed(2), formatRate(growth.measuredRate), outcomeWords(result, elements)];
}

function outcomeWords({ growth, growsBy }: StructureResult, elements: number): string {
  if (growth.outcome === 'full') return `is full at ${(growth.elements / elements).toFixed(2)} n`;
  if (growth.outcome === 'has-room') return 'has room: rounded up';
  const passed = growth.outcome === 'rate-passed' ? ['passes its rate'] : [];
  return [...(growsBy === undefined ? [] : [`grows by ${growsBy}`]), ...passed].join(', ');
}

function lostWords({ falseNegatives }: Fill): string {
  return falseNegatives === 0 ? 'none lost' : `${formatCount(falseNegatives)} LOST`;
}

function describeTimes(structures: readonly StructureResult[]): string {
  const rows = structures.map(({ name, insertNs, hitNs, missNs, deleteNs, growth }) => [
    name,
    ...[insertNs, hitNs, missNs, deleteNs, growth.insertNs, growth.missNs].map(formatNs),
    growth.longestPauseMs === undefined ? '-' : growth.longestPauseMs.toFixed(1),
  ]);
  const head = ['structure', 'insert', 'hit', 'miss', 'delete', 'insert n to 2n', 'miss at 2n', 'longest pause, ms'];
  const title = 'On this machine, ns of processor time each';
  return `${title}\n${formatTable(rows, { head, rightAligned: [1, 2, 3, 4, 5, 6, 7], indent: '  ' })}`;
}

/** Three digits, since a rate is compared with another one. */
function formatRate(rate: number): string {
  return `${Number((rate * 100).toPrecision(3))} %`;
}

function formatNs(ns: number | undefined): string {
  return ns === undefined ? '-' : formatCount(Math.round(ns));
}

function describeAdvice(recommendations: readonly Recommendation[]): string {
  const rows = recommendations.map(({ need, name, because }) => [`${need}:`, name, because]);
  return `Which for what, by these figures\n${formatTable(rows, { indent: '  ' })}`;
}
