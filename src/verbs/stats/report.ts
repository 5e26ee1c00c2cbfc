import type { ChainStatistics } from '../../core/ldm/chain-statistics.ts';
import type { FileStatistics, HeldFor, StatsResult } from './stats.ts';
import { zonesOf } from '../../core/util/format-time.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { LdmError } from '../../core/errors.ts';
import { formatMetrics } from '../../console/jobs/metrics.ts';
import { type RunRecord, RunRecords, runsDirectory } from '../../console/jobs/run-records.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import type { Session } from '../../console/session.ts';
import { formatBar, formatSection, formatTable } from '../../console/output/tables.ts';
import { wrapText } from '../../console/output/wrapped-text.ts';
import {
  countNoun,
  formatCount,
  formatMeasured,
  formatPercent,
  formatRatio,
  formatTime,
} from '../../console/output/words.ts';
import { chainFields } from '../../console/reports/chain-fields.ts';

const BAR_WIDTH = 40;

/** Reports `stats`: tables, or one JSON object. The tables are complete only with `-v`. */
export function reportStats({ output, verbosity }: Session, stats: StatsResult): void {
  output.message('stats', statsFields(stats));
  if (output.json) return;
  const isVerbose = verbosity > 0;
  const sections = [
    describeData(stats),
    ...(stats.hosts.length > 1 ? [describeHosts(stats)] : []),
    describeSpace(stats, isVerbose),
    describeFilter(stats, isVerbose),
    describeChains(stats),
  ];
  output.line(sections.join('\n\n'));
}

/** Prints metrics. Of a profile, those of its recorded runs are among them; what they do not have is left out. */
export function reportMetrics({ output, profile, context }: Session, stats: StatsResult): void {
  const runs = profile === undefined ? [] : endedRuns(output, profile);
  const last = runs.findLast(({ snapshotId }) => snapshotId !== undefined);
  const text = formatMetrics({
    labels: profile === undefined ? { repository: context.backend.location } : { profile },
    runs,
    backup: { data_added: last?.addedBytes, data_added_packed: last?.storedBytes },
    stats: statsFields(stats),
  });
  output.bytes(Buffer.from(text));
}

function endedRuns(output: Output, profile: string): RunRecord[] {
  const directory = runsDirectory(process.env);
  try {
    const runs = directory === undefined ? [] : new RunRecords(directory, profile).readBeside();
    return runs.filter(({ result }) => result !== 'running' && result !== 'skipped');
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    output.problem(`ldm: warning: ${error.message}`, 'notice', { kind: 'warning', message: error.message });
    return [];
  }
}

function describeData(stats: StatsResult): string {
  const deleted = stats.deletedSnapshotsCount === 0 ? '' : `, ${formatCount(stats.deletedSnapshotsCount)} deleted`;
  return formatSection('Data', [
    ['snapshots', `${formatCount(stats.snapshotsCount)}${deleted}`],
    ['logical', `${formatBytes(stats.logicalBytes)} in ${countNoun(stats.logicalFileCount, 'file')}`],
    ['unique', `${formatBytes(stats.uniqueBytes)} in ${countNoun(stats.uniqueChunkCount, 'chunk')}`],
    ['trees', `${formatBytes(stats.treeBytes)} in ${countNoun(stats.treeCount, 'tree')}`],
    ['deduplication', `${formatRatio(stats.dedupRatio)} (logical / unique)`],
    ...(stats.byFile === undefined ? [] : [['by file', describeByFile(stats.byFile)] as const]),
    ['compression', `${formatRatio(stats.compressionRatio)} (unique and trees / stored)`],
  ]);
}

function describeByFile({ dedupRatio, uniqueBytes, uniqueFileCount }: FileStatistics): string {
  return `${formatRatio(dedupRatio)} (logical / ${formatBytes(uniqueBytes)} in ${countNoun(uniqueFileCount, 'distinct file')})`;
}

function describeHosts({ hosts, logicalBytes }: StatsResult): string {
  const rows = hosts.map((host) => [
    escapeForTerminal(host.hostname),
    formatCount(host.snapshotsCount),
    formatBytes(host.logicalBytes),
    formatTime(host.newest),
    formatBar(host.logicalBytes, logicalBytes, BAR_WIDTH),
  ]);
  const head = ['host', 'snapshots', 'logical', `newest (${zonesOf(hosts.map(({ newest }) => newest))})`, ''];
  return `Hosts\n${formatTable(rows, { head, rightAligned: [1, 2], indent: '  ' })}`;
}

function describeSpace(stats: StatsResult, isVerbose: boolean): string {
  const { packs } = stats;
  const kinds = `${formatCount(packs.dataCount)} of data, ${formatCount(packs.treeCount)} of trees`;
  const rows = [
    ['stored', formatBytes(stats.storedBytes)],
    ...(stats.borrowedBytes === 0 ? [] : [['borrowed', `${formatBytes(stats.borrowedBytes)} that other domains keep`]]),
    ...stats.heldFor.map((held) => [`held for ${escapeForTerminal(held.name)}`, describeHeld(held)]),
    ['dead space', `${formatBytes(packs.deadBytes)} (${formatPercent(packs.deadRatio)} of the packs)`],
    ['packs', `${formatBytes(packs.bytes)} in ${countNoun(packs.count, 'pack')} (${kinds})`],
    ['repository', `${formatBytes(stats.repositoryBytes)} on disk`],
  ];
  if (stats.oldVersions !== undefined) rows.push(['old versions', describeOldVersions(stats.oldVersions)]);
  if (isVerbose || packs.unreferencedCount > 0) rows.push(['unreferenced', countNoun(packs.unreferencedCount, 'pack')]);
  if (isVerbose) rows.push(['segments', formatCount(stats.segmentsCount)]);
  if (stats.realmId !== undefined) rows.push(['realm', isVerbose ? stats.realmId : stats.realmId.slice(0, 10)]);
  return formatSection('Space', rows);
}

function describeOldVersions(old: NonNullable<StatsResult['oldVersions']>): string {
  if (old === 'unknown') return 'unknown: these keys are not allowed to list them';
  return `${formatBytes(old.bytes)} in ${countNoun(old.count, 'object')} that the bucket keeps besides`;
}

function describeHeld({ holdCount, storedBytes }: HeldFor): string {
  const holds = countNoun(holdCount, 'hold');
  if (storedBytes === undefined) return `${holds}, of which a list is damaged: see \`ldm check\``;
  return `${formatBytes(storedBytes)} that nothing else needs, ${holds}`;
}

function describeFilter({ filter }: StatsResult, isVerbose: boolean): string {
  const measured = formatMeasured(filter.fprMeasured, filter.fprProbes.count);
  const rate = ['false positive rate', `${formatPercent(filter.fprPredicted)} predicted, ${measured} measured`];
  const parameters = [
    ['chunks (n)', `${formatCount(filter.elements)} of ${formatCount(filter.capacity)} before it grows`],
    ['positions (m)', formatCount(filter.positions)],
    ['hash functions (k)', String(filter.hashes)],
    [
      'counters',
      `${filter.counterBits} bits, largest ${formatCount(filter.counterMax)}, ${formatCount(filter.saturated)} saturated`,
    ],
    ['fill ratio', formatPercent(filter.fillRatio)],
    ['memory', formatBytes(filter.memoryBytes)],
  ];
  return formatSection('LDM filter', isVerbose ? [rate, ...parameters] : [rate]);
}

function describeChains({ filter: { chains, savedChains, walkedChains } }: StatsResult): string {
  const figures = chainLine('Chains by link position', chains);
  const saved = chainLine('Chains as saved (neighbouring positions share one)', savedChains);
  const walked = `${saved}\n${chainLine('Chains as walked (two saved ones share a head in memory)', walkedChains)}`;
  const lengths = chains.histogram
    .map((positions, length) => ({ positions, length }))
    .filter(({ positions }) => positions > 0);
  if (lengths.length === 0) return `${figures}\n${walked}`;
  const largest = Math.max(...lengths.map(({ positions }) => positions));
  const rows = lengths.map(({ positions, length }) => [
    String(length),
    formatCount(positions),
    formatBar(positions, largest, BAR_WIDTH),
  ]);
  const table = formatTable(rows, { head: ['length', 'positions', ''], rightAligned: [0, 1], indent: '  ' });
  return `${figures}\n${table}\n${walked}`;
}

function chainLine(name: string, { count, mean, max }: ChainStatistics): string {
  const lengths = `${formatCount(count)}, mean length ${mean.toFixed(2)}, longest ${formatCount(max)}`;
  return wrapText(`${name}: ${lengths}`, { indent: '  ' });
}

function heldFields({ domainId, name, holdCount, storedBytes }: HeldFor): Record<string, unknown> {
  return { domain_id: domainId, name, holds: holdCount, stored_bytes: storedBytes };
}

function statsFields(stats: StatsResult): Record<string, unknown> {
  const { filter, packs, byFile } = stats;
  return {
    realm_id: stats.realmId,
    snapshots_count: stats.snapshotsCount,
    deleted_snapshots_count: stats.deletedSnapshotsCount,
    total_file_count: stats.logicalFileCount,
    logical_bytes: stats.logicalBytes,
    hosts: stats.hosts.map((host) => ({
      hostname: host.hostname,
      snapshots_count: host.snapshotsCount,
      total_file_count: host.logicalFileCount,
      logical_bytes: host.logicalBytes,
      newest: host.newest,
    })),
    unique_bytes: stats.uniqueBytes,
    unique_chunks: stats.uniqueChunkCount,
    tree_count: stats.treeCount,
    tree_bytes: stats.treeBytes,
    stored_bytes: stats.storedBytes,
    ...(stats.borrowedBytes === 0 ? {} : { borrowed_bytes: stats.borrowedBytes }),
    ...(stats.heldFor.length === 0 ? {} : { held_for: stats.heldFor.map((held) => heldFields(held)) }),
    repository_bytes: stats.repositoryBytes,
    ...(stats.oldVersions === undefined
      ? {}
      : { old_versions: stats.oldVersions === 'unknown' ? null : stats.oldVersions }),
    dedup_ratio: stats.dedupRatio,
    compression_ratio: stats.compressionRatio,
    ...(byFile === undefined
      ? {}
      : {
          by_file: {
            unique_files: byFile.uniqueFileCount,
            unique_bytes: byFile.uniqueBytes,
            dedup_ratio: byFile.dedupRatio,
          },
        }),
    filter: {
      elements: filter.elements,
      capacity: filter.capacity,
      positions: filter.positions,
      hashes: filter.hashes,
      counter_bits: filter.counterBits,
      fill_ratio: filter.fillRatio,
      fpr_predicted: filter.fprPredicted,
      fpr_measured: filter.fprMeasured,
      counter_max: filter.counterMax,
      saturated: filter.saturated,
      memory_bytes: filter.memoryBytes,
    },
    chains: chainFields(filter.chains),
    saved_chains: chainFields(filter.savedChains),
    walked_chains: chainFields(filter.walkedChains),
    packs: {
      count: packs.count,
      data_count: packs.dataCount,
      tree_count: packs.treeCount,
      bytes: packs.bytes,
      dead_bytes: packs.deadBytes,
      dead_ratio: packs.deadRatio,
      unreferenced_count: packs.unreferencedCount,
    },
    segments_count: stats.segmentsCount,
  };
}
