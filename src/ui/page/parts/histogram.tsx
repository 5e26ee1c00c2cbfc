import type { VNode } from 'preact';
import { count } from '../words.ts';
import { Figures, Plot } from './plot.tsx';
import type { Scales } from './plot.tsx';

interface Series {
  readonly name: string;
  /** By the number below. */
  readonly values: readonly number[];
}

interface HistogramProps {
  readonly label: string;
  /** What the numbers below are. */
  readonly unit: string;
  /** The first one is drawn full, the other one as an outline. */
  readonly series: readonly [Series, Series];
  /** The first number below. */
  readonly from: number;
}

const COLUMN_SHARE = 0.4;
const MARK_WIDTH = 24;

/** Two rows of numbers beside each other, as columns and as a table. */
export function Histogram({ label, unit, series, from }: HistogramProps): VNode {
  const last = Math.max(from, ...series.map(({ values }) => values.findLastIndex((value) => value >= 0.5)));
  const numbers = Array.from({ length: last - from + 1 }, (_, index) => from + index);
  const places = numbers.length;
  const marks = (width: number) => {
    const step = Math.ceil((places * MARK_WIDTH) / width);
    const centers = numbers.map((number, index) => ({ at: (index + 0.5) / places, text: String(number) }));
    return centers.filter((_, index) => index % step === 0);
  };
  const columns = ({ x, y, width }: Scales): VNode[] =>
    series.flatMap(({ name, values }, which) =>
      numbers.map((number, index) => {
        const value = values[number] ?? 0;
        // What is not 0 can be seen.
        const height = value < 0.5 ? 0 : Math.max(1, y(0) - y(value));
        const left = x((index + 0.5 + (which - 1) * COLUMN_SHARE) / places);
        return (
          <rect
            key={`${which}-${number}`}
            class={which === 0 ? 'column' : 'column outline'}
            x={left}
            y={y(0) - height}
            width={Math.max(1, (COLUMN_SHARE * width) / places - 1)}
            height={height}
          >
            <title>
              {name}, {unit} {number}: {count(Math.round(value))}
            </title>
          </rect>
        );
      }),
    );
  return (
    <div class="histogram">
      <p class="legend">
        {series.map(({ name }, which) => (
          <span key={name} class={which === 0 ? '' : 'outline'}>
            {name}
          </span>
        ))}
      </p>
      <Plot
        label={label}
        max={Math.max(...series.flatMap(({ values }) => values.slice(from)))}
        base={10}
        format={short}
        marks={marks}
        draw={columns}
      />
      <Figures
        summary={`${label} as a table`}
        head={[unit, ...series.map(({ name }) => name)]}
        rows={() =>
          numbers.map((number) => [
            String(number),
            ...series.map(({ values }) => count(Math.round(values[number] ?? 0))),
          ])
        }
      />
    </div>
  );
}

function short(value: number): string {
  return value.toLocaleString('en-US', { notation: 'compact' });
}
