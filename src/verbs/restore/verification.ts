import { TargetError, isDamage } from '../../core/errors.ts';
import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { TargetContent, syncFileSystem } from '../../core/files/target/target-content.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { chunksOfFile } from '../../core/snapshots/file-chunks.ts';
import type { ContentComparison } from './content-comparison.ts';
import type { RestoreTally } from './restore-tally.ts';
import { walkSelected } from './selected-steps.ts';
import type { SelectedPlace } from './selected-steps.ts';

interface VerificationOptions {
  readonly opened: OpenedState;
  readonly target: ByteString;
  readonly comparison: ContentComparison;
  readonly tally: RestoreTally;
  readonly pacer: Pacer;
}

/**
 * Reads the files of a finished restore back, also those that were there before, and compares them with the snapshot.
 * What the restore could not write, or kept although it differs, was reported and is left out.
 */
export async function verifyRestored(place: SelectedPlace, options: VerificationOptions): Promise<void> {
  // Only what is on the disk can be dropped from memory.
  syncFileSystem(options.target);
  const verification = new Verification(options);
  try {
    await walkSelected(place, options.pacer, { run: (step) => verification.run(step) });
  } finally {
    verification.close();
  }
}

class Verification {
  readonly #options: VerificationOptions;
  /** The branch of the walk. Undefined for a directory that is not there. */
  readonly #branch: (DirectoryPath | undefined)[];

  constructor(options: VerificationOptions) {
    this.#options = options;
    this.#branch = [openDirectoryPath(options.target, { side: 'target', hold: 'always' })];
  }

  run(step: TreeStep): Promise<void> | undefined {
    if (step.kind === 'enter') this.#branch.push(this.#enter(step));
    else if (step.kind === 'leave') this.#branch.pop()?.close();
    else if (step.kind === 'entry' && step.entry.type === 'file') return this.#verify(step);
    return undefined;
  }

  close(): void {
    for (const directory of this.#branch) directory?.close();
  }

  #enter(step: TreeStep): DirectoryPath | undefined {
    const parent = this.#branch.at(-1);
    if (parent === undefined || this.#options.tally.isUnrestored(step)) return undefined;
    try {
      return parent.enter(step.name);
    } catch (error) {
      this.#fail(step, error);
      return undefined;
    }
  }

  async #verify(step: TreeStep): Promise<void> {
    const directory = this.#branch.at(-1);
    const { tally } = this.#options;
    if (directory === undefined || tally.isUnrestored(step)) return;
    let content: TargetContent | undefined;
    try {
      content = new TargetContent(directory.childPath(step.name));
      const differentBytes = await this.#differentBytes(step, content);
      if (differentBytes === undefined) tally.failVerify(step, 'is not the file that was restored: its size differs');
      else if (differentBytes > 0) tally.failVerify(step, `has wrong content: ${differentBytes} bytes differ`);
      else tally.countVerified(step);
    } catch (error) {
      this.#fail(step, error);
    } finally {
      content?.close();
    }
  }

  /** Returns the size of the chunks that differ; undefined if the size of the file does. */
  async #differentBytes({ entry }: TreeStep, content: TargetContent): Promise<number | undefined> {
    if (content.sizeBytes !== entry.sizeBytes) return undefined;
    content.dropCache();
    const chunks = chunksOfFile(this.#options.opened, entry);
    const sameBytes = await this.#options.comparison.compare(content, chunks, () => undefined);
    return entry.sizeBytes - sameBytes;
  }

  #fail(step: TreeStep, error: unknown): void {
    if (!(error instanceof TargetError || isDamage(error))) throw error;
    this.#options.tally.failVerify(step, error.message);
  }
}
