import type { NextReads } from './backend.ts';

/** How a place is asked. Both send their first request before they return. `list`: in the order of `groupsOf`. */
interface Asking<Listed> {
  readonly list: (next: NextReads) => readonly Promise<Listed>[];
  readonly read: (name: string) => Promise<Uint8Array>;
}

/** A command that does something else first must not get outdated answers. */
const KEPT_MS = 30_000;

type Answer<T> = { readonly value: T } | { readonly error: unknown };

/**
 * Answers that were asked for before they are needed, so that several questions are one wait for another machine. Each
 * answer is given once, and all are forgotten as soon as anything else is asked, or written: they would be outdated.
 */
export class AnswersAhead<Listed> {
  readonly #answers = new Map<string, Promise<Answer<unknown> | undefined>[]>();
  readonly #isLost: (error: unknown) => boolean;
  /** When the last answer came. */
  #completeMs = Infinity;

  /** `isLost`: whether an error says nothing about the place, so that all must be asked again: their order counts. */
  constructor(isLost: (error: unknown) => boolean = () => false) {
    this.#isLost = isLost;
  }

  get isEmpty(): boolean {
    return this.#answers.size === 0;
  }

  /** Asks in this order: first the directories, then the names. */
  ask(next: NextReads, { read, list }: Asking<Listed>): void {
    this.forget();
    const directories = groupsOf(next).flat();
    const { names = [] } = next;
    const asked = [
      ...list(next).map((listing, index) => ({ key: listKey(directories[index]!), answer: outcomeOf(listing) })),
      ...names.map((name) => ({ key: readKey(name), answer: outcomeOf(read(name)) })),
    ];
    const all = Promise.all(asked.map(async ({ answer }) => answer));
    this.#completeMs = Infinity;
    const isUsable = all.then((answers) => {
      this.#completeMs = performance.now();
      return !answers.some((each) => 'error' in each && this.#isLost(each.error));
    });
    for (const { key, answer } of asked) {
      const usable = isUsable.then(async (isTrue) => (isTrue ? answer : undefined));
      this.#answers.set(key, [...(this.#answers.get(key) ?? []), usable]);
    }
  }

  /** Returns undefined, and forgets everything, if there is no answer. */
  async listing(directory: string): Promise<Listed | undefined> {
    return (await this.#take(listKey(directory))) as Listed | undefined;
  }

  /** The same for the bytes of a file. */
  async bytes(name: string): Promise<Uint8Array | undefined> {
    return (await this.#take(readKey(name))) as Uint8Array | undefined;
  }

  forget(): void {
    this.#answers.clear();
  }

  async #take(key: string): Promise<unknown> {
    if (performance.now() > this.#completeMs + KEPT_MS) this.forget();
    const [first, ...others] = this.#answers.get(key) ?? [];
    if (others.length > 0) this.#answers.set(key, others);
    else this.#answers.delete(key);
    if (first === undefined) this.forget();
    const answer = await first;
    if (answer === undefined) {
      this.forget();
      return undefined;
    }
    if ('error' in answer) throw answer.error;
    return answer.value;
  }
}

/** The directories that will be listed, in groups of which each must be listed after the one before it. */
export function groupsOf({ directories = [], inTurn = [directories] }: NextReads): readonly (readonly string[])[] {
  return inTurn;
}

function readKey(name: string): string {
  return `read ${name}`;
}

function listKey(directory: string): string {
  return `list ${directory}`;
}

async function outcomeOf<T>(answer: Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await answer };
  } catch (error) {
    return { error };
  }
}
