import { UsageError } from '../../core/errors.ts';
import { NewFile } from '../../core/files/target/new-file.ts';
import type { DumpOptions } from './dump.ts';
import { OutputClosedError } from '../../console/output/output.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';
import type { Session } from '../../console/session.ts';

/** As grep and git do it: a zero byte in the beginning. A terminal would obey what is in such a file. */
const EXAMINED_BYTES = 8192;

/** Where a dump goes. */
type Target = Pick<DumpOptions, 'write' | 'onArchive'>;

/**
 * Runs a dump to standard output, or to a new file, which appears only when it is complete.
 * @param isMeant - whether standard output was asked for, so that anything may go to a terminal
 * @throws UsageError if the file exists, or if an archive or another binary file would go to a terminal
 */
export async function dumpTo<T>(
  session: Session,
  file: string | undefined,
  run: (target: Target) => Promise<T>,
  isMeant = false,
): Promise<T> {
  if (file !== undefined) return await dumpToFile(file, run);
  const { context, output } = session;
  const isTerminal = process.stdout.isTTY && !isMeant;
  let isFirst = true;
  const write: Target['write'] = (bytes) => {
    if (output.failure !== undefined) throw new OutputClosedError();
    if (isTerminal && isFirst && bytes.subarray(0, EXAMINED_BYTES).includes(0)) throw terminalError('a binary file');
    isFirst = false;
    output.bytes(bytes);
    return context.awaitOutput?.();
  };
  const onArchive = (): void => {
    if (isTerminal) throw terminalError('an archive');
  };
  return await run({ write, onArchive });
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

function terminalError(what: string): UsageError {
  const name = what === 'an archive' ? 'file.tar' : 'file';
  return new UsageError(`standard output is a terminal, and the output would be ${what}`, {
    hint: `Add \`-o ${name}\` or \`> ${name}\`, use a pipe, or add \`-o -\` to print it all the same.`,
  });
}
