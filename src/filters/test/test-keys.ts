import type { Session } from '../../console/session.ts';
import { byteFields } from '../../console/output/byte-fields.ts';
import { displayPath } from '../../console/output/display-path.ts';
import { OutputClosedError } from '../../console/output/output.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { byteStringFromBytes } from '../../core/util/byte-string.ts';
import { Pacer } from '../../core/util/pacer.ts';
import type { KeyFilter } from '../keys/key-filter.ts';
import type { KeyBatches } from '../make/make.ts';

/** As options of grep. */
export interface TestKeysFlags {
  readonly invertMatch?: boolean;
  readonly count?: boolean;
  readonly null?: boolean;
}

/**
 * Prints the keys that are perhaps in the filter, or with `invertMatch` those that are certainly not, and returns the
 * exit code of grep: 0 if there is one, 1 if there is none. With `--quiet` it prints nothing and ends at the first one.
 */
export async function testKeys(
  { context, output }: Pick<Session, 'context' | 'output'>,
  filter: KeyFilter,
  keys: KeyBatches,
  flags: TestKeysFlags,
): Promise<number> {
  const wanted = flags.invertMatch !== true;
  const printer = new KeyPrinter(output, filter, flags);
  const pacer = new Pacer(context);
  let asked = 0;
  let selected = 0;
  for await (const batch of keys) {
    for (const key of batch) {
      asked++;
      if (filter.has(key) !== wanted) continue;
      selected++;
      if (output.quiet) return EXIT_SUCCESS;
      printer.print(key);
    }
    printer.flush();
    await pacer.pause();
  }
  if (!output.quiet) printer.end(asked, selected);
  return selected > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/** Prints keys as they were read, since the reader may be a program; on a terminal, without control characters. */
class KeyPrinter {
  readonly #output: Session['output'];
  readonly #filter: KeyFilter;
  readonly #flags: TestKeysFlags;
  readonly #rate: number;
  readonly #delimiter: Uint8Array;
  #pending: Uint8Array[] = [];

  constructor(output: Session['output'], filter: KeyFilter, flags: TestKeysFlags) {
    this.#output = output;
    this.#filter = filter;
    this.#flags = flags;
    this.#rate = filter.filter.falsePositiveRate();
    this.#delimiter = Uint8Array.of(flags.null === true ? 0 : 0x0a);
  }

  print(key: Uint8Array): void {
    if (this.#flags.count === true) return;
    const answer = this.#flags.invertMatch === true ? 'no' : this.#rate === 0 ? 'yes' : 'maybe';
    if (this.#output.json) this.#output.message('key', { ...byteFields('key', byteStringFromBytes(key)), answer });
    else if (process.stdout.isTTY) this.#output.line(displayPath(byteStringFromBytes(key)));
    else this.#pending.push(key, this.#delimiter);
  }

  flush(): void {
    if (this.#pending.length > 0) this.#output.bytes(Buffer.concat(this.#pending));
    this.#pending = [];
    this.#output.flush();
    if (this.#output.failure !== undefined) throw new OutputClosedError();
  }

  end(asked: number, selected: number): void {
    if (this.#flags.count === true) this.#output.line(String(selected));
    const { kind } = this.#filter;
    this.#output.message('summary', { kind, false_positive_rate: this.#rate, asked, selected });
  }
}
