/** A line or a set of points. The other files of this folder draw it. */
export interface ChartSeries {
  readonly name: string;
  /** Marks the points in a terminal. */
  readonly symbol: string;
  /** A CSS color. */
  readonly color: string;
  /** Computed, not measured: drawn as a dashed line without points. */
  readonly isTheory: boolean;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** The standard error of y at each point, in the same order; drawn on both sides of the point. */
  readonly errors?: readonly number[];
}

/** A pair of axes. Both start at 0. Panels that are compared have the same ends. */
export interface ChartPanel {
  readonly xMax: number;
  /** A whole number. */
  readonly yMax: number;
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** Later series are drawn over earlier ones. */
  readonly series: readonly ChartSeries[];
}

/** The ends of the error bar of each point that has one: x, the lower y, which is not below 0, and the upper y. */
export function errorBars({ points, errors = [] }: ChartSeries): [x: number, from: number, to: number][] {
  return points.flatMap(([x, y], index): [number, number, number][] => {
    const error = errors[index] ?? 0;
    return error > 0 ? [[x, Math.max(0, y - error), y + error]] : [];
  });
}

/** The highest y of the series, with their error bars. */
export function highestOf(series: readonly ChartSeries[]): number {
  return Math.max(
    ...series.flatMap((one) => [...one.points.map(([, y]) => y), ...errorBars(one).map(([, , to]) => to)]),
  );
}
