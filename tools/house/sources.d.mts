export interface Source {
  /** Below the checkout. */
  readonly path: string;
  readonly lineCount: number;
  readonly imports: readonly { readonly to: string; readonly kind: 'value' | 'type' | 'late' }[];
}
export type Sources = ReadonlyMap<string, Source>;

export function readSources(root: string, folder?: string): Sources;
export function circlesOf(sources: Sources): string[][];
export function unusedExports(sources: Sources, tests: Sources): { readonly path: string; readonly name: string }[];
export function isEntry(path: string): boolean;
