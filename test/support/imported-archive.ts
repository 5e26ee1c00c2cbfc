import type { TreeEntry } from '../../src/core/format/tree/tree.ts';
import { importTar } from '../../src/verbs/import-tar/import-tar.ts';
import type { ImportTarOptions, ImportTarResult } from '../../src/verbs/import-tar/import-tar.ts';
import { openSnapshot } from '../../src/core/snapshots/open-snapshot.ts';
import { sampleArchive } from './tar-archive.ts';
import type { SampleMember } from './tar-archive.ts';
import type { TestRepository } from './test-repository.ts';

export async function importMembers(
  { context }: TestRepository,
  members: readonly SampleMember[],
  options: Partial<ImportTarOptions> = {},
): Promise<ImportTarResult> {
  return await importTar(context, { archive: [sampleArchive(members)], ...options });
}

/** The paths of the newest snapshot with what they are: the content of a file, the target of a link. */
export async function contents({ context }: TestRepository): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  await eachEntry(context, async (path, entry, read) => {
    found[path] = entry.type === 'file' ? (await read()).toString('latin1') : entry.linkTarget || entry.type;
  });
  return found;
}

async function eachEntry(
  context: TestRepository['context'],
  visit: (path: string, entry: TreeEntry, read: () => Promise<Buffer>) => Promise<void>,
): Promise<void> {
  const snapshot = await openSnapshot(context, { selector: 'latest' });
  const walk = async (directory: TreeEntry, above: string): Promise<void> => {
    for await (const entry of snapshot.entries(directory)) {
      const path = `${above}${entry.name}`;
      await visit(path, entry, async () => Buffer.from(await snapshot.readRange(entry, 0, entry.sizeBytes)));
      if (entry.type === 'directory') await walk(entry, `${path}/`);
    }
  };
  await walk(await snapshot.stat(''), '');
  await snapshot.close();
}

export async function entryAt({ context }: TestRepository, path: string): Promise<TreeEntry> {
  const snapshot = await openSnapshot(context, { selector: 'latest' });
  const entry = await snapshot.stat(path);
  await snapshot.close();
  return entry;
}
