import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { countNoun } from '../words.ts';
import { Table } from './table.tsx';
import { useWidth } from './width.ts';

/** What a day looks like: by shape, not only by colour. */
type DayMark = 'full' | 'flawed' | 'gone';

export interface StripDay {
  readonly mark: DayMark;
  readonly text: string;
}

interface StripProps {
  /** What is drawn, for those who do not see it. */
  readonly label: string;
  /** By day: 2026-11-27. Days that are missing have no snapshot. */
  readonly days: ReadonlyMap<string, StripDay>;
}

const WEEKS_MAX = 53;
const STEP = 13;
const LEFT = 30;
const TOP = 16;
const DAY_MS = 86_400_000;
const NONE = 'no snapshot';
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';
const SHAPES: Readonly<Record<DayMark | 'none', string>> = {
  full: 'h11v11h-11z',
  flawed: 'h11l-11 11z',
  gone: 'm1 1h9v9h-9z',
  none: 'm4 4h3v3h-3z',
};

/** A column for each of the last weeks, and a square for each day. */
export function Strip({ label, days }: StripProps): VNode {
  const { box, width: available } = useWidth();
  const weeks = Math.max(4, Math.min(WEEKS_MAX, Math.floor((available - LEFT) / STEP)));
  const last = numberOf(today());
  // 1 January 1970 was a Thursday, and weeks begin on Monday.
  const first = last - ((last + 3) % 7) - 7 * (weeks - 1);
  const all = Array.from({ length: last - first + 1 }, (_, index) => dayOf(first + index));
  const name = (event: PointerEvent): void => {
    const column = Math.floor((event.offsetX - LEFT) / STEP);
    const row = Math.floor((event.offsetY - TOP) / STEP);
    const day = column < 0 || row < 0 || row > 6 ? undefined : all[column * 7 + row];
    const title = (event.currentTarget as Element).querySelector('title')!;
    title.textContent = day === undefined ? '' : `${day}: ${days.get(day)?.text ?? NONE}`;
  };
  const width = LEFT + weeks * STEP;
  const height = TOP + 7 * STEP;
  return (
    <div class="strip" ref={box}>
      <svg
        role="img"
        aria-label={`${label}: ${describe(all, days)}`}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        onPointerMove={name}
      >
        <title></title>
        <Labels days={all} />
        {(['none', 'full', 'flawed', 'gone'] as const).map((mark) => (
          <path
            key={mark}
            class={mark}
            d={all
              .map((day, index) =>
                (days.get(day)?.mark ?? 'none') === mark
                  ? `M${LEFT + STEP * Math.floor(index / 7)} ${TOP + STEP * (index % 7)}${SHAPES[mark]}`
                  : '',
              )
              .join('')}
          ></path>
        ))}
      </svg>
      <Days label={label} all={all} days={days} />
    </div>
  );
}

/** The first week of each month has its name. */
function Labels({ days }: { days: readonly string[] }): VNode {
  const weeks = days.filter((_, index) => index % 7 === 0).map((day) => day.slice(0, 7));
  return (
    <>
      {weeks.map((month, week) =>
        // Neither a name of which there is no room for the rest, nor two on top of each other.
        (week === 0 && weeks[2] === month) || (week > 0 && month !== weeks[week - 1] && week < weeks.length - 1) ? (
          <text key={month} x={LEFT + STEP * week} y="10">
            {MONTHS.slice(3 * Number(month.slice(5)) - 3).slice(0, 3)}
          </text>
        ) : (
          ''
        ),
      )}
      {['Mon', 'Wed', 'Fri'].map((day, index) => (
        <text key={day} x="0" y={TOP + 10 + STEP * 2 * index}>
          {day}
        </text>
      ))}
    </>
  );
}

/** The same as a table, for which nothing has to be seen or pointed at. */
function Days({ label, all, days }: StripProps & { all: readonly string[] }): VNode {
  const [isOpen, setOpen] = useState(false);
  const toggle = (event: Event): void => setOpen((event.currentTarget as HTMLDetailsElement).open);
  return (
    <details onToggle={toggle}>
      <summary>Days as a table</summary>
      {isOpen && (
        <Table caption={label} heads={['Days', 'Snapshots']}>
          {spansOf(all, days).map(({ from, to, text }) => (
            <tr key={from}>
              <th scope="row">{from === to ? from : `${from} to ${to}`}</th>
              <td>{text}</td>
            </tr>
          ))}
        </Table>
      )}
    </details>
  );
}

/** Joins days about which the same is said, the newest first. */
function spansOf(
  all: readonly string[],
  days: StripProps['days'],
): { readonly from: string; readonly to: string; readonly text: string }[] {
  const spans: { from: string; to: string; text: string }[] = [];
  for (const day of all.toReversed()) {
    const text = days.get(day)?.text ?? NONE;
    const span = spans.at(-1);
    if (span?.text === text) span.from = day;
    else spans.push({ from: day, to: day, text });
  }
  return spans;
}

const WORDS: Readonly<Record<DayMark, string>> = { full: '', flawed: 'with problems', gone: 'to be deleted' };

function describe(all: readonly string[], days: StripProps['days']): string {
  const found = all.flatMap((day) => days.get(day)?.mark ?? []);
  const parts = (['flawed', 'gone'] as const).flatMap((mark) => {
    const number = found.filter((each) => each === mark).length;
    return number === 0 ? [] : [`${number} ${WORDS[mark]}`];
  });
  return [`${found.length} of ${countNoun(all.length, 'day')} have snapshots`, ...parts].join(', ');
}

interface LegendProps {
  readonly marks: readonly (readonly [mark: DayMark | 'none', text: string])[];
}

export function Legend({ marks }: LegendProps): VNode {
  return (
    <ul class="legend" aria-label="Legend">
      {marks.map(([mark, text]) => (
        <li key={mark}>
          <svg width="11" height="11" aria-hidden="true">
            <path class={mark} d={`M0 0${SHAPES[mark]}`}></path>
          </svg>
          {text}
        </li>
      ))}
    </ul>
  );
}

function today(): string {
  const now = new Date();
  return dayOf(Math.floor((now.getTime() - now.getTimezoneOffset() * 60_000) / DAY_MS));
}

function numberOf(day: string): number {
  return Date.parse(day) / DAY_MS;
}

function dayOf(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}
