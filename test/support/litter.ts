import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** What desktops, network file systems, file servers and programs that copy or synchronize leave in any directory. */
const FILES: readonly (string | Buffer)[] = [
  '.DS_Store',
  'Thumbs.db',
  'desktop.ini',
  '.directory',
  '.nfs000000000012ab34000000f1',
  '.~lock.file#',
  '.syncthing.file.tmp',
  '~syncthing~file.tmp',
  '.file.Ab12Cd',
  'file.part',
  'core',
  'exclusive-something',
  'shared-something.sync-conflict-20261125-120000-ABCDEFG',
  'l'.repeat(255),
  Buffer.from([0x66, 0xff, 0xfe, 0x2e]),
  'line\nbreak',
];

/** The names of copies that are made of a file. */
function conflictCopiesOf(name: string): string[] {
  return [
    `${name}.sync-conflict-20261125-120000-ABCDEFG`,
    `${name} (conflicted copy 2026-11-25)`,
    `${name} (host's conflicted copy 2026-11-25)`,
    `${name}_conflict-20261125-120000`,
    `${name} (1)`,
    `${name} 2`,
    `${name}~`,
    `${name}.tmp`,
    `.${name}.Ab12Cd`,
    `${name}\n`,
  ].filter((copy) => Buffer.byteLength(copy) <= 255);
}

/** Puts litter into a directory of a repository, and into those below it. Returns the paths of all of it. */
export function addLitter(directory: string, deep = true): (string | Buffer)[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  const added: (string | Buffer)[] = [];
  const add = (name: string | Buffer, make: (path: string | Buffer) => void): void => {
    const path = typeof name === 'string' ? join(directory, name) : Buffer.concat([Buffer.from(`${directory}/`), name]);
    make(path);
    added.push(path);
  };
  for (const name of FILES) add(name, (path) => writeFileSync(path, 'x'));
  add('dangling', (path) => symlinkSync('nowhere', path));
  add('loop', (path) => symlinkSync('.', path));
  add('@eaDir', (path) => {
    mkdirSync(path);
    writeFileSync(join(String(path), 'Thumbs.db'), 'x');
  });
  add(Buffer.from([0x64, 0xff]), (path) => mkdirSync(path));
  for (const entry of entries) {
    if (entry.isDirectory()) {
      if (deep) added.push(...addLitter(join(directory, entry.name)));
      continue;
    }
    for (const copy of conflictCopiesOf(entry.name))
      add(copy, (path) => copyFileSync(join(directory, entry.name), path));
    // A name of digits alone is the same in capitals: a checkpoint may have one.
    const capitals = entry.name.toUpperCase();
    if (!existsSync(join(directory, capitals)))
      add(capitals, (path) => copyFileSync(join(directory, entry.name), path));
    // In a directory of another program, it is not one of ours.
    copyFileSync(join(directory, entry.name), join(directory, '@eaDir', basename(entry.name)));
  }
  return added.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
}
