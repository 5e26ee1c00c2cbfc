import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Table } from './table.tsx';
import { useWidth } from './width.ts';

/** Where the values of a plot are on the screen. */
export interface Scales {
  /** From a share of the width. */
  readonly x: (share: number) => number;
  readonly y: (value: number) => number;
  readonly width: number;
}

interface PlotProps {
  readonly label: string;
  readonly max: number;
  /** 2: the ticks are round as sizes in KiB, MiB, ... */
  readonly base: 2 | 10;
  readonly format: (value: number) => string;
  /** The marks below, from the left to the right: `at` is a share of the width. */
  readonly marks: (width: number) => readonly { readonly at: number; readonly text: string }[];
  readonly draw: (scales: Scales) => ComponentChildren;
}

const LEFT = 64;
const RIGHT = 10;
const TOP = 8;
const HEIGHT = 150;
const TICKS_MAX = 4;

/** A frame with axes for a picture of values. The values have to be beside it as a table: see `Figures`. */
export function Plot({ label, max, base, format, marks, draw }: PlotProps): VNode {
  const { box, width: whole } = useWidth();
  const width = whole - LEFT - RIGHT;
  const ticks = ticksTo(max, TICKS_MAX, base);
  const scales: Scales = {
    x: (share) => LEFT + share * width,
    y: (value) => TOP + HEIGHT * (1 - value / ticks.at(-1)!),
    width,
  };
  const anchorOf = (at: number): string => (at === 0 ? 'start' : at === 1 ? 'end' : 'middle');
  return (
    <div class="plot" ref={box}>
      {width <= 0 ? (
        ''
      ) : (
        <svg role="img" aria-label={label} width={whole} height={TOP + HEIGHT + 24}>
          {ticks.map((tick) => (
            <g key={tick}>
              <line class="grid" x1={LEFT} x2={LEFT + width} y1={scales.y(tick)} y2={scales.y(tick)} />
              <text x={LEFT - 6} y={scales.y(tick) + 4} text-anchor="end">
                {format(tick)}
              </text>
            </g>
          ))}
          {draw(scales)}
          {marks(width).map(({ at, text }) => (
            <text key={at} x={scales.x(at)} y={TOP + HEIGHT + 18} text-anchor={anchorOf(at)}>
              {text}
            </text>
          ))}
        </svg>
      )}
    </div>
  );
}

interface FiguresProps {
  readonly summary: string;
  readonly head: readonly string[];
  /** The first column names the row. */
  readonly rows: () => readonly (readonly string[])[];
}

/** The values of a picture as a table to open. */
export function Figures({ summary, head, rows }: FiguresProps): VNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>{summary}</summary>
      {isOpen && (
        <Table caption={summary} heads={head.map((name, index) => (index > 0 ? `#${name}` : name))} isLong>
          {rows().map(([name, ...values], index) => (
            <tr key={index}>
              <th scope="row">{name}</th>
              {values.map((value) => (
                <td class="number">{value}</td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </details>
  );
}

/** Round steps from 0 to at least `max`: at most `limit` of them, in sizes by powers of two. */
function ticksTo(max: number, limit: number, base: 2 | 10): number[] {
  let step = 1;
  for (let factor = 0; step * limit < max; factor += 1) {
    step = base === 2 ? 2 ** (factor + 1) : [2, 5, 10][factor % 3]! * 10 ** Math.floor(factor / 3);
  }
  const count = Math.max(1, Math.ceil(max / step));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}
