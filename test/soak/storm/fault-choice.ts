import type { Prng } from '../../support/prng.ts';
import type { FaultPlan, ServerEvent, StormPlace } from './place.ts';

/** Commands without a fault, per cent. */
const CALM_PERCENT = 45;
/** How many requests pass before a fault, at most: few, about as many as a backup has, or far more. */
const REQUESTS_MAX = [6, 30, 150] as const;
/** How often each kind has to happen. */
const COUNT_MIN = 2;

/** Chooses faults, and counts those that have happened. */
export class FaultChoice {
  readonly counts: Map<string, number>;
  /** In commands that run now. */
  readonly #planned = new Map<string, number>();
  readonly #place: StormPlace;
  readonly #prng: Prng;

  constructor(place: StormPlace, prng: Prng) {
    this.#place = place;
    this.#prng = prng;
    this.counts = new Map([...Object.keys(place.kinds), ...Object.keys(place.events)].map((kind) => [kind, 0]));
  }

  /** The kinds that have not happened often enough. */
  get missing(): string[] {
    const needed = (kind: string): number => Math.min(COUNT_MIN, this.#place.kinds[kind]?.countMax ?? COUNT_MIN);
    return [...this.counts].filter(([kind, count]) => count < needed(kind)).map(([kind]) => kind);
  }

  /** After a command whose fault was planned. */
  countPlanned(kind: string, count: number): void {
    this.#planned.set(kind, this.#planned.get(kind)! - 1);
    this.count(kind, count);
  }

  count(kind: string, count: number): void {
    this.counts.set(kind, this.counts.get(kind)! + count);
  }

  /** The fault of the next command, if it has one. */
  nextPlan(prng: Prng): FaultPlan | undefined {
    if (prng.int(100) < CALM_PERCENT) return undefined;
    const { kinds } = this.#place;
    const countOf = (kind: string): number => this.counts.get(kind)! + (this.#planned.get(kind) ?? 0);
    const possible = Object.keys(kinds).filter((kind) => countOf(kind) < (kinds[kind]!.countMax ?? Infinity));
    const rare = possible.filter((kind) => this.missing.includes(kind));
    const kind = prng.pick(rare.length > 0 && prng.int(2) === 0 ? rare : possible);
    const { ms = 0, timesMax = 1, countMax } = kinds[kind]!;
    this.#planned.set(kind, (this.#planned.get(kind) ?? 0) + 1);
    // What takes long and is rare has to happen when it is planned.
    const at = 1 + prng.int(countMax === undefined ? prng.pick(REQUESTS_MAX) : 20);
    return { kind, at, times: 1 + prng.int(timesMax), ms, isPassed: prng.int(2) === 0 };
  }

  /** The next event of the server: mostly one that has happened seldom. */
  nextEvent(): readonly [string, ServerEvent] {
    const names = Object.keys(this.#place.events);
    const rare = names.filter((name) => this.missing.includes(name));
    const name = this.#prng.pick(rare.length > 0 ? rare : names);
    return [name, this.#place.events[name]!];
  }
}
