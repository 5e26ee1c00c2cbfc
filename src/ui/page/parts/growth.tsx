import type { VNode } from 'preact';
import type { GrowthAnswer } from '../../api/space.ts';
import { bytes, shortId, time } from '../words.ts';
import { Figures, Plot } from './plot.tsx';
import type { Scales } from './plot.tsx';

interface Step {
  readonly id: string;
  readonly time: string;
  /** Where it is between the first snapshot and the last one. */
  readonly at: number;
  readonly added: number;
  readonly sum: number;
}

/** One and a half dates, since the first and the last one are not centred. */
const MARK_WIDTH = 120;

/** How the snapshots make up what is stored. */
export function Growth({ answer }: { answer: GrowthAnswer }): VNode {
  const steps = stepsOf(answer);
  if (steps.length === 0) return <p>There are no snapshots yet.</p>;
  const last = steps.at(-1)!;
  const marks = (width: number) => datesBetween(steps[0]!.time, last.time, Math.floor(width / MARK_WIDTH));
  const frame = { base: 2 as const, format: tick, marks };
  return (
    <>
      <h3>Stored up to each snapshot</h3>
      <Plot
        {...frame}
        label={`Stored: ${bytes(last.sum)} up to ${time(last.time)}`}
        max={last.sum}
        draw={(scales: Scales) => <path class="area" d={areaOf(steps, scales)} />}
      />
      <h3>Added by each snapshot</h3>
      <Plot
        {...frame}
        label={`Added by each of ${steps.length} snapshots`}
        max={Math.max(...steps.map(({ added }) => added))}
        draw={({ x, y, width }: Scales) =>
          steps.map(({ id, at, added, ...step }) => {
            const barWidth = Math.max(1, Math.min(12, width / steps.length - 1));
            const left = x(0) + at * (width - barWidth);
            return (
              <rect key={id} class="column" x={left} y={y(added)} width={barWidth} height={y(0) - y(added)}>
                <title>
                  {time(step.time)}: {bytes(added)}
                </title>
              </rect>
            );
          })
        }
      />
      <Figures
        summary="Growth as a table"
        head={['Snapshot', 'Id', 'Added', 'Stored']}
        rows={() =>
          steps.map((step) => [time(step.time), shortId(step.id), bytes(step.added), bytes(step.sum)]).reverse()
        }
      />
    </>
  );
}

function stepsOf({ steps }: GrowthAnswer): Step[] {
  const times = steps.map((step) => Date.parse(step.time));
  const span = times.at(-1)! - times[0]!;
  let sum = 0;
  return steps.map(({ id, time: at, storedBytes }, index) => {
    sum += storedBytes;
    return { id, time: at, at: span === 0 ? 0 : (times[index]! - times[0]!) / span, added: storedBytes, sum };
  });
}

/** Between two snapshots, nothing is added. */
function areaOf(steps: readonly Step[], { x, y }: Scales): string {
  const corners = steps.map(({ at, sum }) => `H${x(at)}V${y(sum)}`);
  return `M${x(0)} ${y(0)}${corners.join('')}H${x(1)}V${y(0)}Z`;
}

function datesBetween(first: string, last: string, count: number): { at: number; text: string }[] {
  const [from, to] = [Date.parse(first), Date.parse(last)];
  const days = (to - from) / 86_400_000;
  const parts = Math.max(1, Math.min(count, days < 4 ? 1 : Math.floor(days)));
  const textAt = (at: number): string => time(new Date(from + (to - from) * at).toISOString());
  const shares = to === from ? [0] : Array.from({ length: parts + 1 }, (_, index) => index / parts);
  return shares.map((at) => ({ at, text: days < 4 ? textAt(at) : textAt(at).slice(0, 10) }));
}

function tick(value: number): string {
  return bytes(value).replace('.0', '');
}
