/** How many objects one request lists. */
const PAGE_KEYS = 1000;

/** Remembers how many requests it takes to list a directory. */
export class ListedPages {
  readonly #pages = new Map<string, number>();

  note(prefix: string, objectCount: number): void {
    this.#pages.set(prefix, Math.max(1, Math.ceil(objectCount / PAGE_KEYS)));
  }

  /** Whether listing the directories takes fewer round trips than asking for each object, a batch at a time. */
  isFaster(prefixes: Iterable<string>, objectCount: number, atOnce: number): boolean {
    let pages = 0;
    for (const prefix of prefixes) pages += this.#pages.get(prefix) ?? 1;
    return pages < Math.ceil(objectCount / atOnce);
  }
}

export function topDirectoryOf(name: string): string {
  return name.slice(0, name.indexOf('/') + 1);
}
