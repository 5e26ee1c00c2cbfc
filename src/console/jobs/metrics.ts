import { type RunRecord, hasSucceeded } from './run-records.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What the metrics of a profile or of a repository are computed from. */
interface MetricSources {
  /** Of all samples: the profile, or the repository. */
  readonly labels: Readonly<Record<string, string>>;
  /** Those that have ended, oldest first. */
  readonly runs: readonly RunRecord[];
  /** The summary of the last `backup` in JSON, or what is known of it. */
  readonly backup: Fields | undefined;
  /** The JSON of `stats`, if the repository could be read. */
  readonly stats: Fields | undefined;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly samples: readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: unknown }[];
}

/** Returns the metrics in the text format of Prometheus, version 0.0.4. What is not known is left out. */
export function formatMetrics(sources: MetricSources): string {
  return metricsOf(sources)
    .map((metric) => formatMetric(metric, sources.labels))
    .join('');
}

function metricsOf({ runs, backup, stats }: MetricSources): Metric[] {
  const last = runs.at(-1);
  const files = ['new', 'changed', 'unmodified'].map((state) => ({
    labels: { state },
    value: backup?.[`files_${state}`],
  }));
  const packs = stats?.['packs'] as Fields | undefined;
  return [
    gauge('ldm_run_last_success_timestamp_seconds', 'When the last run without an error ended.', [
      endSeconds(runs.findLast(({ result }) => result === 'success')),
    ]),
    gauge('ldm_run_last_exit_code', 'The exit code of the last run.', [last?.exitCode]),
    gauge('ldm_run_duration_seconds', 'How long the last run took.', [seconds(last?.durationMs)]),
    { name: 'ldm_backup_files', help: 'Files in the last backup, by what had happened to them.', samples: files },
    gauge('ldm_backup_added_bytes', 'New bytes of the last backup, before compression.', [backup?.['data_added']]),
    gauge('ldm_backup_stored_bytes', 'Bytes that the last backup has stored.', [backup?.['data_added_packed']]),
    gauge('ldm_check_last_success_timestamp_seconds', 'When the last check without an error ended.', [
      endSeconds(runs.findLast((run) => hasSucceeded(run, 'check'))),
    ]),
    gauge('ldm_repository_bytes', 'The size of all files of the repository.', [stats?.['repository_bytes']]),
    gauge('ldm_repository_snapshots', 'Snapshots in the repository.', [stats?.['snapshots_count']]),
    gauge('ldm_repository_dead_bytes', 'Bytes in packs that no snapshot uses.', [packs?.['dead_bytes']]),
  ];
}

function gauge(name: string, help: string, values: readonly unknown[]): Metric {
  return { name, help, samples: values.map((value) => ({ value })) };
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

function endSeconds(run: RunRecord | undefined): number | undefined {
  return run === undefined ? undefined : (Date.parse(run.start) + (run.durationMs ?? 0)) / 1000;
}

function formatMetric({ name, help, samples }: Metric, common: MetricSources['labels']): string {
  const lines = samples
    .filter(({ value }) => typeof value === 'number')
    .map(({ labels = {}, value }) => {
      const pairs = Object.entries({ ...common, ...labels }).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
      return `${name}{${pairs.join(',')}} ${String(value)}\n`;
    });
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
