import type { LoadFigures, LoadTestOptions, LoadTestResult, NightFigures } from './load-test.ts';
import { SIZED_NAMES } from './structure-sizes.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { formatCount, formatRatio } from '../../console/output/words.ts';

const MEGABYTE = 1e6;
const PUBLISHED_SIZES =
  'the paper prints 27.34 MB for 100,000 ids to 273.76 MB for 1,000,000; what it counts, and in which unit, is unclear';

/** Reports `filter load-test`: times and questions by the number of users, then the memory of each structure, then publications. */
export function reportLoadTest(
  output: Output,
  options: LoadTestOptions,
  result: LoadTestResult,
  written: readonly string[],
): void {
  output.message('load_test', { ...loadTestFields(options, result), files: written });
  if (output.json) return;
  const { seed, idsPerDomain, serviceMs, servedAtOnce, lookUpsPerUser } = options;
  output.line(
    `seed ${seed}, ${result.domains} domains of ${formatCount(idsPerDomain)} chunks, ${servedAtOnce} questions at once ` +
      `of ${serviceMs} ms on average, ${formatCount(lookUpsPerUser)} look-ups per user`,
  );
  output.line(`\n${describeLoad(result)}\n\n${describeSizes(result)}\n\n${describePublication(result)}`);
  for (const file of written) output.remark(`wrote ${file}`);
}

function describeLoad({ load, planeBytes, domains }: LoadTestResult): string {
  const rows = load.map(({ users, inTurn, byFilter, speedUp }) => [
    String(users),
    ...figureCells(inTurn),
    ...figureCells(byFilter),
    formatRatio(speedUp),
  ]);
  const figures = ['questions', 'mean', 'p50', 'p95'];
  const head = ['users', ...figures, ...figures, 'faster'];
  const table = formatTable(rows, { head, rightAligned: [...head.keys()], indent: '  ' });
  const memory = `the filters of all ${domains} domains take ${(planeBytes / MEGABYTE).toFixed(2)} MB together`;
  return `Model of the time of a look-up in ms: domain after domain, and by filter\n${table}\n  ${memory}`;
}

function figureCells({ questionsPerLookUp, meanMs, p50Ms, p95Ms }: LoadFigures): string[] {
  return [questionsPerLookUp, meanMs, p50Ms, p95Ms].map((value) => value.toFixed(2));
}

function describeSizes({ sizes }: LoadTestResult): string {
  const rows = sizes.map(({ elements, structureBytes, setBytes }) => [
    formatCount(elements),
    ...SIZED_NAMES.map((name) => (structureBytes.get(name)! / MEGABYTE).toFixed(2)),
    (setBytes / MEGABYTE).toFixed(2),
  ]);
  const head = ['ids', ...SIZED_NAMES, 'JavaScript Set'];
  const table = formatTable(rows, { head, rightAligned: [...head.keys()], indent: '  ' });
  return `Memory in MB (10^6 bytes), for a rate of 1 %; the Set as measured in this process\n${table}\n  ${PUBLISHED_SIZES}`;
}

const NIGHT_COLUMNS: readonly (readonly [string, (night: NightFigures) => number])[] = [
  ['plane', ({ planeMs }) => planeMs],
  ['flips found', ({ planMs }) => planMs],
  ['written', ({ writeMs }) => writeMs],
  ['read elsewhere', ({ readMs }) => readMs],
  ['in all', ({ planeMs, planMs, writeMs, readMs }) => planeMs + planMs + writeMs + readMs],
];

function describePublication({ publication }: LoadTestResult): string {
  const { elements, changes, baseBytes, nights } = publication;
  const rows = nights.map((night, index) => [
    String(index + 1),
    formatCount(night.flips),
    formatCount(night.bytes),
    ...NIGHT_COLUMNS.map(([, msOf]) => msOf(night).toFixed(1)),
  ]);
  const head = ['night', 'flips', 'bytes', ...NIGHT_COLUMNS.map(([name]) => name)];
  const table = formatTable(rows, { head, rightAligned: [...head.keys()], indent: '  ' });
  const what = `a domain of ${formatCount(elements)} chunks, ${formatCount(changes)} changed each night`;
  return `Publication: ${what}, times in ms\n${table}\n  the first publication takes ${formatCount(baseBytes)} bytes`;
}

function nightFields({ flips, bytes, planeMs, planMs, writeMs, readMs }: NightFigures): Record<string, number> {
  return { flips, bytes, plane_ms: planeMs, plan_ms: planMs, write_ms: writeMs, read_ms: readMs };
}

function loadTestFields(options: LoadTestOptions, result: LoadTestResult): Record<string, unknown> {
  return {
    seed: options.seed,
    domains: result.domains,
    ids_per_domain: options.idsPerDomain,
    look_ups_per_user: options.lookUpsPerUser,
    service_ms: options.serviceMs,
    served_at_once: options.servedAtOnce,
    fpr_target: result.falsePositiveRate,
    plane_bytes: result.planeBytes,
    load: result.load.map(({ users, inTurn, byFilter, speedUp }) => ({
      users,
      in_turn: figureFields(inTurn),
      by_filter: figureFields(byFilter),
      speed_up: speedUp,
    })),
    sizes: result.sizes.map(({ elements, structureBytes, setBytes }) => ({
      elements,
      structure_bytes: Object.fromEntries(structureBytes),
      set_bytes: setBytes,
    })),
    publication: {
      elements: result.publication.elements,
      changes: result.publication.changes,
      m: result.publication.positions,
      base_bytes: result.publication.baseBytes,
      nights: result.publication.nights.map((night) => nightFields(night)),
    },
  };
}

function figureFields({ questionsPerLookUp, meanMs, p50Ms, p95Ms }: LoadFigures): Record<string, number> {
  return { questions_per_look_up: questionsPerLookUp, mean_ms: meanMs, p50_ms: p50Ms, p95_ms: p95Ms };
}
