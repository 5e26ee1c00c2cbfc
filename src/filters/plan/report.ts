import type { PlanChoice, PlanWalk } from './plan.ts';
import type { RateRow } from './rate-table.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import type { Output } from '../../console/output/output.ts';
import { formatSection, formatTable } from '../../console/output/tables.ts';
import { formatCount } from '../../console/output/words.ts';

/** The sizes from which the capacity was computed. */
interface PlanSizes {
  readonly chunkBytes: number;
  /** Undefined if the capacity was given as a number of chunks. */
  readonly storeBytes: number | undefined;
}

const VERDICTS: Readonly<Record<PlanChoice['verdict'], string>> = {
  accepted: '<- accepted',
  rejected: 'rate too high',
  alternative: '',
};

/** Reports `filter plan`: each k that was tried up to the accepted rate, with the neighbours of the accepted one. */
export function reportPlan(output: Output, walk: PlanWalk, sizes: PlanSizes): void {
  output.message('plan', planFields(walk, sizes));
  if (output.json) return;
  output.line([describeStore(walk, sizes), describeChoices(walk), describeAccepted(walk)].join('\n\n'));
}

function describeStore({ capacity, fprTarget }: PlanWalk, { chunkBytes, storeBytes }: PlanSizes): string {
  const size =
    storeBytes === undefined
      ? []
      : [['capacity', `${formatBytes(storeBytes)} in chunks of ${formatBytes(chunkBytes)}`]];
  return formatSection('Store', [
    ...size,
    ['chunks (n_max)', formatCount(capacity)],
    ['rate to accept', fprTarget === undefined ? 'that of the given k' : formatRate(fprTarget)],
  ]);
}

function describeChoices({ choices }: PlanWalk): string {
  const rows = choices.map((choice) => [
    String(choice.hashes),
    String(choice.positions),
    formatRate(choice.fpr),
    String(choice.plan.positions),
    formatRate(choice.plan.fprPredicted),
    choice.bitsPerElement.toFixed(1),
    formatBytes(choice.counterBytes),
    formatBytes(choice.chainBytes),
    VERDICTS[choice.verdict],
  ]);
  return formatTable(rows, {
    head: ['k', 'm by (2)', 'FPR by (1)', 'm in ldm', 'FPR there', 'bits/chunk', 'counters', 'chains', ''],
    rightAligned: [0, 1, 2, 3, 4, 5, 6, 7],
  });
}

function describeAccepted({ accepted, capacity, fprTarget }: PlanWalk): string {
  const { hashes, positions, fpr, plan } = accepted;
  const rate = fprTarget === undefined ? '' : ` --fpr ${fprTarget}`;
  return [
    `accepted: k = ${hashes}, n_max = ${capacity}, m = ${positions}, FPR ${formatRate(fpr)}`,
    `ldm uses m = ${plan.positions}, a prime: link positions are uniform only if m shares no factor with k`,
    `in use: ldm init --capacity ${capacity} --hashes ${hashes}${rate}`,
  ].join('\n');
}

/** Reports `filter plan --table`. The lowest rate of a row has a star. */
export function reportRateTable(output: Output, table: readonly RateRow[]): void {
  const rows = table.map(({ bitsPerElement, bestHashes, rates }) => {
    return { bits_per_element: bitsPerElement, best_hashes: bestHashes, fpr: rates };
  });
  output.message('rate_table', { rows });
  if (output.json) return;
  const hashes = table[0]!.rates.map((_, index) => index + 1);
  const lines = table.map(({ bitsPerElement, bestHashes, rates }) => {
    const lowest = Math.min(...rates);
    const cells = rates.map((rate) => `${formatPublished(rate)}${rate === lowest ? '*' : ' '}`);
    return [String(bitsPerElement), bestHashes.toFixed(2), ...cells];
  });
  const head = ['m/n', 'best k', ...hashes.map((k) => `k = ${k} `)];
  output.line(formatTable(lines, { head, rightAligned: head.map((_, column) => column) }));
}

/** Three digits, as in the published table: 0.0217, 9.05e-6. */
function formatPublished(rate: number): string {
  return rate < 1e-4 ? rate.toExponential(2) : String(Number(rate.toPrecision(3)));
}

/** Two digits, as rates are published: 0.0078. */
function formatRate(rate: number): string {
  return String(Number(rate.toPrecision(2)));
}

function planFields(walk: PlanWalk, { chunkBytes, storeBytes }: PlanSizes): Record<string, unknown> {
  return {
    capacity: walk.capacity,
    capacity_bytes: storeBytes,
    chunk_size: storeBytes === undefined ? undefined : chunkBytes,
    fpr_target: walk.fprTarget,
    accepted: choiceFields(walk.accepted),
    choices: walk.choices.map(choiceFields),
  };
}

function choiceFields(choice: PlanChoice): Record<string, unknown> {
  return {
    hashes: choice.hashes,
    positions: choice.positions,
    fpr: choice.fpr,
    ldm_positions: choice.plan.positions,
    ldm_fpr: choice.plan.fprPredicted,
    bits_per_element: choice.bitsPerElement,
    counter_bytes: choice.counterBytes,
    chain_bytes: choice.chainBytes,
    verdict: choice.verdict,
  };
}
