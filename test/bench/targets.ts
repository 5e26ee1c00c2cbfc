import type { Limit, Measurement, PeerName, ScenarioResult, Target } from './bench-types.ts';
import { medianOf } from './measure.ts';

/** A limit and how far ldm is from it. */
export interface CheckedLimit extends Limit {
  /** A ratio where there is a peer, otherwise the figure itself; absent if it or the peer's was not measured. */
  readonly measured?: number;
  readonly isReached?: boolean;
}

export interface CheckedTarget {
  /** The title of the scenario and what is limited. */
  readonly title: string;
  readonly measure: Target['measure'];
  readonly must: CheckedLimit;
  readonly aim?: CheckedLimit;
}

/** The names of the tools that are meant by a peer: what archives also unpacks. */
const peerTools: Readonly<Record<PeerName, string>> = {
  restic: 'restic',
  'tar | zstd -3': 'tar + zstd -3',
  untar: 'tar + zstd -3',
  cp: 'cp -a',
};

const measureTitles = {
  seconds: 'time',
  memoryBytesMax: 'peak memory',
  repositorySizeBytes: 'repository size',
} as const;

export function checkTargets(result: ScenarioResult): CheckedTarget[] {
  return (result.targets ?? []).map(({ measure, must, aim }) => ({
    title: `${result.title}: ${typeof measure === 'string' ? measureTitles[measure] : measure.figure}`,
    measure,
    must: checkLimit(result, measure, must),
    ...(aim === undefined ? {} : { aim: checkLimit(result, measure, aim) }),
  }));
}

function checkLimit(result: ScenarioResult, measure: Target['measure'], limit: Limit): CheckedLimit {
  const ldm = typeof measure === 'string' ? valueOf(result, measure, 'ldm') : figureOf(result, measure.figure);
  const unit =
    limit.peer === undefined || typeof measure !== 'string' ? 1 : valueOf(result, measure, peerTools[limit.peer]);
  if (ldm === undefined || unit === undefined) return limit;
  const measured = ldm / unit;
  return { ...limit, measured, isReached: measured <= limit.value };
}

function valueOf(result: ScenarioResult, measure: keyof typeof measureTitles, tool: string): number | undefined {
  const found: Measurement | undefined = result.measurements.find((measurement) => measurement.tool === tool);
  if (found === undefined) return undefined;
  return measure === 'seconds' ? medianOf(found.seconds) : found[measure];
}

function figureOf(result: ScenarioResult, name: string): number | undefined {
  const figure = result.figures?.[name];
  return typeof figure === 'number' ? figure : undefined;
}
