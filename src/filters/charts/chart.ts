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
}

/** A pair of axes. Both start at 0. */
export interface ChartPanel {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** Later series are drawn over earlier ones. */
  readonly series: readonly ChartSeries[];
}
