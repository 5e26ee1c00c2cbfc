import type { RealLoadTestOptions, RealLoadTestResult, RealRow } from './real-load-test.ts';
import type { Way } from './ways.ts';
import type { Output } from '../../../console/output/output.ts';
import { formatTable } from '../../../console/output/tables.ts';
import { countNoun, formatCount, formatRatio } from '../../../console/output/words.ts';

const WAYS: Readonly<Record<Way, string>> = {
  'in-turn': 'in turn',
  'by-filter': 'by filter',
  locate: 'locate',
  'locate-cached': 'locate, cache',
};

/** Reports `filter load-test --real`: a row for each number of clients and way to look chunks up. */
export function reportRealLoadTest(
  output: Output,
  options: RealLoadTestOptions,
  { rows, processors }: RealLoadTestResult,
  written: readonly string[],
): void {
  const { seed, domains, idsPerDomain, lookUpsPerClient, coordinator, cache } = options;
  output.message('real_load_test', {
    seed,
    domains,
    ids_per_domain: idsPerDomain,
    look_ups_per_client: lookUpsPerClient,
    coordinator,
    cache,
    processors,
    rows: rows.map(rowFields),
    files: written,
  });
  if (output.json) return;
  const servers = cache ? `${coordinator} and Redis` : coordinator;
  output.line(
    `seed ${seed}, ${countNoun(domains, 'agent')} of ${formatCount(idsPerDomain)} chunks, coordinator ${servers}, ` +
      `${formatCount(lookUpsPerClient)} look-ups per client, ${countNoun(processors, 'processor')}`,
  );
  output.line(`\nTime of a look-up in ms, and processor time of it in ms\n${describeRows(rows)}`);
  for (const file of written) output.remark(`wrote ${file}`);
}

function describeRows(rows: readonly RealRow[]): string {
  const hasServers = rows.some(({ serverMs }) => serverMs !== undefined && serverMs > 0);
  const cells = rows.map((row) => [
    String(row.clients),
    WAYS[row.way],
    row.questionsPerLookUp.toFixed(2),
    ...[row.meanMs, row.p50Ms, row.p95Ms].map((value) => value.toFixed(1)),
    formatCount(Math.round(row.lookUpsPerSecond)),
    cpu(row.agentMs),
    cpu(row.clientMs),
    ...(hasServers ? [cpu(row.serverMs)] : []),
    formatCount(row.unanswered),
    formatRatio(row.speedUp),
  ]);
  const processors = ['agents', 'clients', ...(hasServers ? ['servers'] : [])];
  const head = [
    'clients',
    'way',
    'questions',
    'mean',
    'p50',
    'p95',
    'per second',
    ...processors,
    'unanswered',
    'faster',
  ];
  const rightAligned = [...head.keys()].filter((column) => column !== 1);
  return formatTable(cells, { head, rightAligned, indent: '  ' });
}

function cpu(value: number | undefined): string {
  return value === undefined ? '?' : value.toFixed(2);
}

function rowFields(row: RealRow): Record<string, unknown> {
  return {
    clients: row.clients,
    way: row.way,
    look_ups: row.lookUps,
    questions_per_look_up: row.questionsPerLookUp,
    unanswered: row.unanswered,
    mean_ms: row.meanMs,
    p50_ms: row.p50Ms,
    p95_ms: row.p95Ms,
    look_ups_per_second: row.lookUpsPerSecond,
    agents_cpu_ms: row.agentMs,
    clients_cpu_ms: row.clientMs,
    servers_cpu_ms: row.serverMs,
    speed_up: row.speedUp,
  };
}
