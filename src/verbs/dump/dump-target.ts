import { UsageError } from '../../core/errors.ts';
import { NewFile } from '../../core/files/target/new-file.ts';
import type { DumpOptions } from './dump.ts';
import { OutputClosedError } from '../../console/output/output.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import type { Session } from '../../console/session.ts';

/** Where a dump goes. */
type Target = Pick<DumpOptions, 'write' | 'onArchive'>;

/**
 * Runs a dump to standard output, or to a new file, which appears only when it is complete.
 * @throws UsageError if the file exists, or if an archive would go to a terminal
 */
export async function dumpTo<T>(
  session: Session,
  file: string | undefined,
  run: (target: Target) => Promise<T>,
): Promise<T> {
  if (file !== undefined) return await dumpToFile(file, run);
  const { context, output } = session;
  const write: Target['write'] = (bytes) => {
    if (output.failure !== undefined) throw new OutputClosedError();
    output.bytes(bytes);
    return context.awaitOutput?.();
  };
  return await run({ write, onArchive: refuseTerminal });
}

async function dumpToFile<T>(path: string, run: (target: Target) => Promise<T>): Promise<T> {
  const file = new NewFile(recoverBytes([path])[0]!);
  try {
    const result = await run({
      write: (bytes) => {
        file.write(bytes);
        return undefined;
      },
    });
    file.commit();
    return result;
  } catch (error) {
    file.discard();
    throw error;
  }
}

function refuseTerminal(): void {
  if (!process.stdout.isTTY) return;
  throw new UsageError('standard output is a terminal, and the output would be an archive', {
    hint: 'Name a file with -o, or use a pipe.',
  });
}
