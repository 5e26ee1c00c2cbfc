/** A sample of a metric. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const HELP = /^# HELP ([a-z_:][a-z0-9_:]*) (\S.*)$/;
const TYPE = /^# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge)$/;
/** Only a line feed ends a line: a label may contain other characters at which `.` stops. */
const SAMPLE = /^([a-z_:][a-z0-9_:]*)\{([^\n]*)\} (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
/** At the start of what is left of the labels. */
const LABEL = /^([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,(?=[a-z_])|$)/;

/**
 * Reads the text format of Prometheus, version 0.0.4. Refuses a metric without HELP or TYPE, without samples or in two
 * places, the same labels twice, and names that `promtool check metrics` would complain about. Returns the samples by the
 * names of the metrics.
 */
export function parseMetrics(text: string): Map<string, Sample[]> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const metrics = new Map<string, Sample[]>();
  const lines = text.slice(0, -1).split('\n');
  let current: string | undefined;
  for (let index = 0; index < lines.length; index += 1) {
    const [, helped] = HELP.exec(lines[index]!) ?? [];
    if (helped !== undefined) {
      const [, typed, type] = TYPE.exec(lines[index + 1] ?? '') ?? [];
      if (typed !== helped) throw new Error(`${helped} has no type`);
      if (metrics.has(helped)) throw new Error(`${helped} is in two places`);
      assertName(helped, type!);
      metrics.set(helped, []);
      current = helped;
      index += 1;
      continue;
    }
    const [, name, labels, value] = SAMPLE.exec(lines[index]!) ?? [];
    if (name === undefined) throw new Error(`no line of the format: ${lines[index]}`);
    if (name !== current) throw new Error(`${name} is not below its type`);
    const sample = { labels: labelsOf(labels!), value: Number(value) };
    const samples = metrics.get(name)!;
    const key = keyOf(sample);
    if (samples.some((each) => keyOf(each) === key)) throw new Error(`twice: ${lines[index]}`);
    samples.push(sample);
  }
  for (const [name, samples] of metrics) if (samples.length === 0) throw new Error(`${name} has no samples`);
  return metrics;
}

function assertName(name: string, type: string): void {
  if ((type === 'counter') !== name.endsWith('_total')) throw new Error(`a ${type} is called ${name}`);
  if (/_(ms|milliseconds|minutes|hours|days|kb|mb|kilobytes|gauge)(_|$)/.test(name)) throw new Error(`unit: ${name}`);
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let rest = text; rest !== '';) {
    const [whole, name, value] = LABEL.exec(rest) ?? [];
    if (name === undefined || name in labels) throw new Error(`wrong labels: ${text}`);
    labels[name] = value!.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
    rest = rest.slice(whole!.length);
  }
  return labels;
}

function keyOf({ labels }: Sample): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
