import type { CompareOptions, CompareResult, Fill, Recommendation, StructureResult } from './compare.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { formatCount } from '../../console/output/words.ts';
import { describeChains } from './report-chains.ts';
import { adviceFields, settingFields, structureFields, unavailableFields } from './report-fields.ts';

/** Prints what will be measured. Called before the measurement, which may take minutes. */
export function reportSettings(output: Output, { elements, falsePositiveRate, seed }: CompareOptions): void {
  const rate = formatRate(falsePositiveRate);
  output.line(`seed ${seed}, n = ${formatCount(elements)} random ids of 20 bytes, made for a rate of ${rate}`);
  output.flush();
}

/** Reports `filter compare`: first the figures that are the same on every machine, then times, then recommendations. */
export function reportComparison(output: Output, options: CompareOptions, result: CompareResult): void {
  output.message('summary', {
    ...settingFields(options),
    recommendations: result.recommendations.map(adviceFields),
    unavailable: result.unavailable.map(unavailableFields),
  });
  if (output.json) return;
  const sections = [
    describeRates(result, options.elements),
    ...describeChains(result.structures),
    describeTimes(result.structures),
    describeUniformTimes(result.structures),
    describeAdvice(result.recommendations),
  ];
  for (const section of sections) output.line(`\n${section}`);
}

/** Prints a structure as a JSON line as soon as it is measured. */
export function reportStructure(output: Output, options: CompareOptions, result: StructureResult): void {
  output.message('structure', { ...settingFields(options), ...structureFields(result) });
  output.flush();
}

function describeRates({ structures, unavailable }: CompareResult, elements: number): string {
  const rows = structures.map((structure) => [
    structure.name,
    ...fillCells(structure.full),
    formatRate(structure.uniform.full.measuredRate),
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
    'uniform ids',
    'bits/el. at 2n',
    'FPR',
    'given 2n',
    'FPR at n/2',
    'after deletes',
  ];
  const missing = unavailable.map(
    ({ name, reason }) => `\n  ${name}: not measured, ${reason.message}\n    ${reason.hint}`,
  );
  const notes = [
    ...missing,
    ...structures.flatMap((result) => [
      ...describeMeasured(result),
      ...describeCounters(result),
      ...describeRefused(result),
      ...describeMissed(result),
    ]),
  ].join('');
  return `The same on every machine\n${formatTable(rows, { head, rightAligned: [1, 2, 3, 4, 5, 6, 8], indent: '  ' })}${notes}`;
}

function describeMeasured({ name, measuredAs }: StructureResult): string[] {
  return measuredAs === undefined ? [] : [`\n  ${name} was measured ${measuredAs}`];
}

/** An exact structure has no false positives, but its counters have. Each costs a walk along a chain. */
function describeCounters({ name, full: { counters }, uniform }: StructureResult): string[] {
  if (counters === undefined) return [];
  const uniformRate = uniform.full.counters?.measuredRate ?? counters.measuredRate;
  const [predicted, measured, ofUniform] = [counters.predictedRate, counters.measuredRate, uniformRate].map(formatRate);
  return [
    `\n  ${name} is exact; its filter alone would say "perhaps" to ${measured} of the absent ids, ${ofUniform} with uniform ids (${predicted} predicted)`,
  ];
}

/** Reports ids that were in, but not deleted. */
function describeRefused({ name, full, halved }: StructureResult): string[] {
  const asked = Math.ceil(full.elements / 2);
  const refused = halved === undefined ? 0 : halved.elements - (full.elements - asked);
  if (refused === 0) return [];
  const counts = `${formatCount(refused)} of ${formatCount(asked)} deletes`;
  return [`\n  ${name} refused ${counts}, of ids that several of its filters match`];
}

/** Reports false negatives, which no structure may have. */
function describeMissed({ name, full, growth, uniform }: StructureResult): string[] {
  const missed = full.falseNegatives + growth.falseNegatives + uniform.full.falseNegatives;
  return missed === 0 ? [] : [`\n  ${name} MISSED ${formatCount(missed)} ids that were inserted`];
}

function fillCells(fill: Fill): string[] {
  return [fill.bitsPerElement.toFixed(2), formatRate(fill.predictedRate), formatRate(fill.measuredRate)];
}

function growthCells(result: StructureResult, elements: number): string[] {
  const { growth } = result;
  return [growth.bitsPerElement.toFixed(2), formatRate(growth.measuredRate), outcomeWords(result, elements)];
}

function outcomeWords({ growth, growsBy }: StructureResult, elements: number): string {
  if (growth.outcome === 'full' && growth.elements === elements) return 'is static: accepts no more';
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
  const title = 'On this machine, ns of processor time each, with each structure hashing the ids';
  return `${title}\n${formatTable(rows, { head, rightAligned: [1, 2, 3, 4, 5, 6, 7], indent: '  ' })}`;
}

function describeUniformTimes(structures: readonly StructureResult[]): string {
  const rows = structures.map(({ name, uniform: { insertNs, hitNs, missNs, deleteNs } }) => [
    name,
    ...[insertNs, hitNs, missNs, deleteNs].map(formatNs),
  ]);
  const head = ['structure', 'insert', 'hit', 'miss', 'delete'];
  const same = structures.filter(({ hashesIds }) => !hashesIds).map(({ name }) => name);
  const note =
    same.length === 0 ? '' : `\n  the same figures as above for ${same.join(' and ')}: they do not hash the ids`;
  return `With uniform ids, used without hashing\n${formatTable(rows, { head, rightAligned: [1, 2, 3, 4], indent: '  ' })}${note}`;
}

/** Three digits, so that rates can be compared with each other. */
function formatRate(rate: number): string {
  return `${Number((rate * 100).toPrecision(3))} %`;
}

function formatNs(ns: number | undefined): string {
  return ns === undefined ? '-' : formatCount(Math.round(ns));
}

function describeAdvice(recommendations: readonly Recommendation[]): string {
  const rows = recommendations.map(({ need, name, ties, because }) => [
    `${need}:`,
    ties.length === 0 ? name : `tie: ${[name, ...ties].join(', ')}`,
    because,
  ]);
  const title = 'Which for what, by these figures; differences below 25 % are ties';
  return `${title}\n${formatTable(rows, { indent: '  ' })}`;
}
