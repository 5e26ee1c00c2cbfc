/** A line or a set of points; what draws it is in the other files of this folder. */
export interface ChartSeries {
  readonly name: string;
  /** Of its points, where there are only characters. */
  readonly symbol: string;
  /** As CSS has it. */
  readonly color: string;
  /** Computed, not measured: drawn dashed, without points. */
  readonly isTheory: boolean;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** One pair of axes. Both begin at 0. */
export interface ChartPanel {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** What comes later is drawn over what comes earlier. */
  readonly series: readonly ChartSeries[];
}
