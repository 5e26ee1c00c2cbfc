import type { Progress } from '../../core/session/progress.ts';

/** Long enough to smooth the difference between large and small files, short enough to follow a change of speed. */
const WINDOW_MS = 15_000;
/** Rates over a shorter time are noise. */
const SPAN_MS_MIN = 2_000;

interface Sample {
  readonly atMs: number;
  readonly bytesDone: number;
}

/** Measures how fast an operation processes bytes, and estimates the remaining time. */
export class ProgressRate {
  readonly #progress: Progress;
  readonly #samples: Sample[] = [];

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  /** Records the current progress. The other methods refer to the last sample. */
  sample(atMs: number): void {
    const samples = this.#samples;
    const { bytesDone } = this.#progress;
    // A new phase may count from 0 again.
    if (bytesDone < (samples.at(-1)?.bytesDone ?? 0)) samples.length = 0;
    samples.push({ atMs, bytesDone });
    while (samples.length > 1 && samples[1]!.atMs <= atMs - WINDOW_MS) samples.shift();
  }

  get bytesPerSecond(): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.atMs - first.atMs < SPAN_MS_MIN) return undefined;
    return ((last.bytesDone - first.bytesDone) / (last.atMs - first.atMs)) * 1000;
  }

  get secondsRemaining(): number | undefined {
    const { bytesDone, bytesTotal } = this.#progress;
    const rate = this.bytesPerSecond;
    if (bytesTotal === undefined || rate === undefined || rate === 0 || bytesDone > bytesTotal) return undefined;
    return Math.ceil((bytesTotal - bytesDone) / rate);
  }
}
