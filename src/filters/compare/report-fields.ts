import type {
  CompareOptions,
  CompareResult,
  Fill,
  Filled,
  Recommendation,
  StructureResult,
  UnavailableStructure,
} from './compare.ts';
import { chainFields } from '../../console/reports/chain-fields.ts';

/** The settings, which are repeated in every JSON line. */
export function settingFields({ elements, falsePositiveRate, seed }: CompareOptions): Record<string, unknown> {
  return { elements, fpr_target: falsePositiveRate, seed };
}

export function adviceFields({ need, name, ties, because }: Recommendation): Record<string, unknown> {
  return { need, structure: name, ties, because };
}

export function unavailableFields({ name, reason }: UnavailableStructure): Record<string, unknown> {
  return { structure: name, message: reason.message, code: reason.code, hint: reason.hint };
}

export function structureFields(result: StructureResult): Record<string, unknown> {
  const { name, isOnDisk, growth, uniform } = result;
  return {
    structure: name,
    on_disk: isOnDisk,
    ...(result.measuredAs === undefined ? {} : { measured_as: result.measuredAs }),
    ...filledFields(result),
    growth: {
      outcome: growth.outcome,
      by: result.growsBy ?? null,
      ...fillFields(growth),
      insert_ns: growth.insertNs,
      miss_ns: growth.missNs,
      longest_pause_ms: growth.longestPauseMs,
    },
    uniform_ids: filledFields(uniform),
    ...(result.chains === undefined
      ? {}
      : {
          chains: result.chains.map(({ definition, places, chains }) => ({
            definition,
            places,
            empty: places - chains.count,
            ...chainFields(chains),
          })),
        }),
  };
}

function filledFields({ full, halved, insertNs, hitNs, missNs, deleteNs }: Filled): Record<string, unknown> {
  return {
    full: fillFields(full),
    halved: halved === undefined ? null : fillFields(halved),
    insert_ns: insertNs,
    hit_ns: hitNs,
    miss_ns: missNs,
    delete_ns: deleteNs ?? null,
  };
}

function fillFields(fill: Fill): Record<string, unknown> {
  return {
    elements: fill.elements,
    bits_per_element: fill.bitsPerElement,
    fpr_predicted: fill.predictedRate,
    fpr_measured: fill.measuredRate,
    false_negatives: fill.falseNegatives,
    ...(fill.counters === undefined
      ? {}
      : { counters: { fpr_predicted: fill.counters.predictedRate, fpr_measured: fill.counters.measuredRate } }),
  };
}

const CSV_COLUMNS: readonly (readonly [string, (result: StructureResult) => string | number | undefined])[] = [
  ['structure', ({ name }) => name],
  ['bits_per_element', ({ full }) => full.bitsPerElement],
  ['fpr_predicted', ({ full }) => full.predictedRate],
  ['fpr_measured', ({ full }) => full.measuredRate],
  ['false_negatives', ({ full }) => full.falseNegatives],
  ['growth_outcome', ({ growth }) => growth.outcome],
  ['growth_elements', ({ growth }) => growth.elements],
  ['growth_bits_per_element', ({ growth }) => growth.bitsPerElement],
  ['growth_fpr_predicted', ({ growth }) => growth.predictedRate],
  ['growth_fpr_measured', ({ growth }) => growth.measuredRate],
  ['halved_fpr_predicted', ({ halved }) => halved?.predictedRate],
  ['halved_fpr_measured', ({ halved }) => halved?.measuredRate],
  ['halved_false_negatives', ({ halved }) => halved?.falseNegatives],
  ['insert_ns', ({ insertNs }) => insertNs],
  ['hit_ns', ({ hitNs }) => hitNs],
  ['miss_ns', ({ missNs }) => missNs],
  ['delete_ns', ({ deleteNs }) => deleteNs],
  ['uniform_fpr_measured', ({ uniform }) => uniform.full.measuredRate],
  ['uniform_insert_ns', ({ uniform }) => uniform.insertNs],
  ['uniform_hit_ns', ({ uniform }) => uniform.hitNs],
  ['uniform_miss_ns', ({ uniform }) => uniform.missNs],
  ['uniform_delete_ns', ({ uniform }) => uniform.deleteNs],
  ['growth_insert_ns', ({ growth }) => growth.insertNs],
  ['growth_miss_ns', ({ growth }) => growth.missNs],
  ['growth_longest_pause_ms', ({ growth }) => growth.longestPauseMs],
];

/** Returns the figures as CSV, with the settings in every row. */
export function comparisonCsv({ elements, falsePositiveRate, seed }: CompareOptions, result: CompareResult): string {
  const header = ['elements', 'fpr_target', 'seed', ...CSV_COLUMNS.map(([column]) => column)];
  const rows = result.structures.map((structure) => [
    elements,
    falsePositiveRate,
    seed,
    ...CSV_COLUMNS.map(([, value]) => value(structure) ?? ''),
  ]);
  return [header, ...rows].map((cells) => `${cells.join(',')}\n`).join('');
}
