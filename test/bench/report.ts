import type { Machine } from './machine.ts';
import type { Measurement, ScenarioResult } from './bench-types.ts';
import { medianOf } from './measure.ts';
import { checkTargets, type CheckedLimit, type CheckedTarget } from './targets.ts';

/** Everything as Markdown, ready to be pasted into a document. */
export function formatReport(results: readonly ScenarioResult[], machine: Machine): string {
  const sections = [
    formatMachine(machine),
    formatTargets(results),
    formatTimes(results),
    formatColumns(results, { title: 'repository size', valueOf: ({ repositorySizeBytes }) => repositorySizeBytes }),
    formatColumns(results, { title: 'peak memory', valueOf: ({ memoryBytesMax }) => memoryBytesMax }),
    formatFigures(results),
    formatProblems(results),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

/** One JSON object per line: the machine, then for each scenario the tools, plain figures and targets. */
export function formatJsonLines(results: readonly ScenarioResult[], machine: Machine): string {
  const rows: object[] = [{ kind: 'machine', ...machine }];
  for (const result of results) {
    const { slug, measurements, figures } = result;
    for (const measurement of measurements) {
      rows.push({ kind: 'measurement', scenario: slug, medianSeconds: medianOf(measurement.seconds), ...measurement });
    }
    if (figures !== undefined) rows.push({ kind: 'figures', scenario: slug, ...figures });
    for (const target of checkTargets(result)) rows.push({ kind: 'target', scenario: slug, ...target });
  }
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

function formatMachine(machine: Machine): string {
  const versions = Object.entries(machine.tools).map(([name, version]) => `${name} ${version}`);
  return [
    `${machine.coreCount} x ${machine.cpu}, ${formatSize(machine.memoryBytes)} memory`,
    `Linux ${machine.kernel}, ${machine.distribution}, Node ${machine.node}`,
    versions.join(', '),
  ]
    .filter((part) => part !== '')
    .join('; ');
}

function formatTargets(results: readonly ScenarioResult[]): string {
  const targets = results.flatMap((result) => checkTargets(result));
  if (targets.length === 0) return '';
  const rows = targets.map(({ title, measure, must, aim }) => [
    title,
    ...formatLimit(must, measure),
    ...(aim === undefined ? ['', ''] : formatLimit(aim, measure)),
  ]);
  return formatTable(['target', 'must reach', 'ldm', 'aim', 'ldm'], rows);
}

/** The limit, and what ldm has beside it. */
function formatLimit(limit: CheckedLimit, measure: CheckedTarget['measure']): string[] {
  const { value, peer, measured, isReached } = limit;
  const format = (figure: number): string => {
    if (peer !== undefined) return formatRatio(figure);
    return measure === 'memoryBytesMax' || measure === 'repositorySizeBytes'
      ? formatSize(figure)
      : formatFigure(figure);
  };
  return [
    peer === undefined ? format(value) : `${value} x ${peer.replace('|', String.raw`\|`)}`,
    measured === undefined ? 'not measured' : `${format(measured)}, ${isReached === true ? 'reached' : 'missed'}`,
  ];
}

/** The time of an encrypted run includes the hash of the password. */
const RATIOS = ['ldm / restic', 'encrypted / not'];

function formatRatios(values: ReadonlyMap<string, number | undefined>): string[] {
  const encrypted = divide(values.get('ldm, encrypted'), values.get('ldm'));
  return [formatRatio(divide(values.get('ldm'), values.get('restic'))), formatRatio(encrypted)];
}

function formatTimes(results: readonly ScenarioResult[]): string {
  const timed = results.filter(({ measurements }) => measurements.length > 0);
  if (timed.length === 0) return '';
  const tools = toolNamesOf(timed);
  const rows = timed.map(({ title, measurements }) => {
    const medians = new Map(measurements.map(({ tool, seconds }) => [tool, medianOf(seconds)]));
    return [title, ...tools.map((tool) => formatSeconds(medians.get(tool))), ...formatRatios(medians)];
  });
  return formatTable(['seconds (median)', ...tools, ...RATIOS], rows);
}

function formatColumns(
  results: readonly ScenarioResult[],
  options: { title: string; valueOf: (measurement: Measurement) => number | undefined },
): string {
  const sized = results.filter(({ measurements }) => measurements.some((one) => options.valueOf(one) !== undefined));
  if (sized.length === 0) return '';
  const tools = toolNamesOf(sized);
  const rows = sized.map(({ title, measurements }) => {
    const values = new Map(measurements.map((one) => [one.tool, options.valueOf(one)]));
    return [title, ...tools.map((tool) => formatSize(values.get(tool))), ...formatRatios(values)];
  });
  return formatTable([options.title, ...tools, ...RATIOS], rows);
}

function formatFigures(results: readonly ScenarioResult[]): string {
  const rows = results.flatMap(({ figures }) =>
    Object.entries(figures ?? {}).map(([name, value]) => [name, formatFigure(value)]),
  );
  return rows.length === 0 ? '' : formatTable(['the LDM filter alone', ''], rows);
}

function formatFigure(value: number | string): string {
  if (typeof value === 'string') return value;
  return Math.abs(value) >= 100 || Number.isInteger(value)
    ? Math.round(value).toLocaleString('en')
    : value.toPrecision(3);
}

function formatProblems(results: readonly ScenarioResult[]): string {
  return results
    .flatMap(({ slug, measurements }) => measurements.map((measurement) => ({ slug, ...measurement })))
    .filter(({ problems }) => problems !== undefined && problems.length > 0)
    .map(({ slug, tool, problems }) => `**${slug}, ${tool}**: wrong result: ${problems!.slice(0, 5).join('; ')}`)
    .join('\n\n');
}

function toolNamesOf(results: readonly ScenarioResult[]): string[] {
  return [...new Set(results.flatMap(({ measurements }) => measurements.map(({ tool }) => tool)))];
}

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_name, index) => (index === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function divide(value: number | undefined, by: number | undefined): number | undefined {
  return value === undefined || by === undefined ? undefined : value / by;
}

function formatSeconds(seconds: number | undefined): string {
  if (seconds === undefined) return '';
  return seconds < 1 ? seconds.toFixed(3) : seconds.toFixed(2);
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? '' : ratio.toFixed(2);
}

function formatSize(sizeBytes: number | undefined): string {
  if (sizeBytes === undefined) return '';
  return sizeBytes < 10e6 ? `${(sizeBytes / 1e6).toFixed(2)} MB` : `${Math.round(sizeBytes / 1e6)} MB`;
}
