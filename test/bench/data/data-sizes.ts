import type { BenchSize } from '../bench-types.ts';
import type { UsrSizes } from './make-usr.ts';

export interface DataSizes {
  readonly usr: UsrSizes;
  /** Of each release. */
  readonly releases: { readonly releaseCount: number; readonly fileCount: number; readonly sizeBytes: number };
  /** Of both files together. */
  readonly bigSizeBytes: number;
}

/** Full is the size of the published table; small runs inside the test suite, so that the benchmark cannot rot. */
export const dataSizes: Readonly<Record<BenchSize, DataSizes>> = {
  full: {
    usr: { roots: ['/usr'], fileCount: 54_000, sizeBytes: 1_400_000_000 },
    releases: { releaseCount: 16, fileCount: 4030, sizeBytes: 50_000_000 },
    bigSizeBytes: 2_100_000_000,
  },
  small: {
    usr: { roots: ['/usr/bin', '/usr/share/doc'], fileCount: 60, sizeBytes: 600_000 },
    releases: { releaseCount: 2, fileCount: 30, sizeBytes: 300_000 },
    bigSizeBytes: 2_000_000,
  },
};
