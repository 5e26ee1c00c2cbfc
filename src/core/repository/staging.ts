import type { Backend, StagedFile } from '../backend/backend.ts';

/** Writes the bytes of a new file in any number of pieces. */
export type WriteFile = (append: StagedFile['append']) => Promise<unknown>;

/** Writes a file under a temporary name. */
export async function stageFile(backend: Backend, write: WriteFile, isReadOften = false): Promise<StagedFile> {
  const file = await backend.stage(isReadOften);
  return await orDiscard(file, async () => write(async (bytes) => file.append(bytes)));
}

/** The same, with the bytes on the disk: the file can then get its name on a full disk, too. */
export async function prepareFile(backend: Backend, bytes: Uint8Array): Promise<StagedFile> {
  const file = await stageFile(backend, async (append) => append(bytes));
  return await orDiscard(file, async () => file.flush());
}

async function orDiscard(file: StagedFile, step: () => Promise<unknown>): Promise<StagedFile> {
  try {
    await step();
    return file;
  } catch (error) {
    await file.discard();
    throw error;
  }
}
