import type { Machine } from './machine.ts';
import type { Measurement, ScenarioResult } from './bench-types.ts';
import { medianOf } from './measure.ts';

/** Everything as Markdown, ready to be pasted into a document. */
export function formatReport(results: readonly ScenarioResult[], machine: Machine): string {
  const sections = [
    formatMachine(machine),
    formatTimes(results),
    formatColumns(results, { title: 'repository size', valueOf: ({ repositorySizeBytes }) => repositorySizeBytes }),
    formatColumns(results, { title: 'peak memory', valueOf: ({ memoryBytesMax }) => memoryBytesMax }),
    formatFigures(results),
    formatProblems(results),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

/** One JSON object per line: the machine, then each tool in each scenario, then plain figures. */
export function formatJsonLines(results: readonly ScenarioResult[], machine: Machine): string {
  const rows: object[] = [{ kind: 'machine', ...machine }];
  for (const { slug, measurements, figures, goal } of results) {
    for (const measurement of measurements) {
      rows.push({ kind: 'measurement', scenario: slug, medianSeconds: medianOf(measurement.seconds), ...measurement });
    }
    if (figures !== undefined) rows.push({ kind: 'figures', scenario: slug, ...figures });
    if (goal !== undefined) rows.push({ kind: 'goal', scenario: slug, ...goal, ...ratiosOf(measurements) });
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

function formatTimes(results: readonly ScenarioResult[]): string {
  const timed = results.filter(({ measurements }) => measurements.length > 0);
  if (timed.length === 0) return '';
  const tools = toolNamesOf(timed);
  const head = ['seconds (median)', ...tools, 'ldm / restic', 'must reach', 'aim', 'ldm / floor'];
  const rows = timed.map((result) => {
    const { toRestic, toFloor } = ratiosOf(result.measurements);
    const cells = tools.map((tool) => {
      const measurement = result.measurements.find((other) => other.tool === tool);
      return measurement === undefined ? '' : formatSeconds(medianOf(measurement.seconds));
    });
    const { goal } = result;
    const aim = goal === undefined ? '' : `${goal.aim} x ${goal.aimAgainst}`;
    return [result.title, ...cells, formatRatio(toRestic), goal?.mustReach.toString() ?? '', aim, formatRatio(toFloor)];
  });
  return formatTable(head, rows);
}

/** How ldm compares with restic and with the fastest floor. */
function ratiosOf(measurements: readonly Measurement[]): { toRestic?: number; toFloor?: number } {
  const secondsOf = (name: string): number | undefined => {
    const found = measurements.find(({ tool }) => tool === name);
    return found === undefined ? undefined : medianOf(found.seconds);
  };
  const [ldm, restic] = [secondsOf('ldm'), secondsOf('restic')];
  const floors = measurements.filter(({ isFloor }) => isFloor).map(({ seconds }) => medianOf(seconds));
  if (ldm === undefined) return {};
  return {
    ...(restic === undefined ? {} : { toRestic: ldm / restic }),
    ...(floors.length === 0 ? {} : { toFloor: ldm / Math.min(...floors) }),
  };
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
    const [ldm, restic] = [values.get('ldm'), values.get('restic')];
    const ratio = ldm === undefined || restic === undefined ? undefined : ldm / restic;
    return [title, ...tools.map((tool) => formatSize(values.get(tool))), formatRatio(ratio)];
  });
  return formatTable([options.title, ...tools, 'ldm / restic'], rows);
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

function formatSeconds(seconds: number): string {
  return seconds < 1 ? seconds.toFixed(3) : seconds.toFixed(2);
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? '' : ratio.toFixed(2);
}

function formatSize(sizeBytes: number | undefined): string {
  if (sizeBytes === undefined) return '';
  return sizeBytes < 10e6 ? `${(sizeBytes / 1e6).toFixed(2)} MB` : `${Math.round(sizeBytes / 1e6)} MB`;
}
