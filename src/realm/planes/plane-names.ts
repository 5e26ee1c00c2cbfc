/**
 * The names of plane files, relative to the place of a repository: `planes/<generation>/base-<sequence>` and
 * `planes/<generation>/delta-<from>-<to>`. Generations and sequences have 12 digits, so that names sort by age.
 */

/** What the name of a plane file says. */
type PlaneFileName =
  | { readonly kind: 'base'; readonly generation: number; readonly sequence: number }
  | { readonly kind: 'delta'; readonly generation: number; readonly from: number; readonly to: number };

const DIGITS = 12;
const NAME = /^planes\/(\d{12})\/(?:base-(\d{12})|delta-(\d{12})-(\d{12}))$/;

export function planeBaseName(generation: number, sequence: number): string {
  return `planes/${digitsOf(generation)}/base-${digitsOf(sequence)}`;
}

export function planeDeltaName(generation: number, from: number, to: number): string {
  return `planes/${digitsOf(generation)}/delta-${digitsOf(from)}-${digitsOf(to)}`;
}

/** Returns undefined if a name is not that of a plane file. Such files do not belong to ldm. */
export function parsePlaneFileName(name: string): PlaneFileName | undefined {
  const [, generation, base, from, to] = NAME.exec(name) ?? [];
  if (generation === undefined) return undefined;
  if (base !== undefined) return { kind: 'base', generation: Number(generation), sequence: Number(base) };
  // A delta leads forwards.
  if (Number(from) >= Number(to)) return undefined;
  return { kind: 'delta', generation: Number(generation), from: Number(from), to: Number(to) };
}

/**
 * The highest sequence to which plane files of these names lead; 0 if there is none. Above that of the published state,
 * the next plane is being published, or its publisher was killed between the file and the record.
 */
export function newestSequence(names: readonly string[]): number {
  let newest = 0;
  for (const name of names) {
    const parsed = parsePlaneFileName(name);
    if (parsed !== undefined) newest = Math.max(newest, parsed.kind === 'base' ? parsed.sequence : parsed.to);
  }
  return newest;
}

function digitsOf(value: number): string {
  return String(value).padStart(DIGITS, '0');
}
