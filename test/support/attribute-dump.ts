import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

import { readHoleMap } from '../../src/core/files/source/hole-map.ts';
import { describeTree } from './compare-trees.ts';
import { missingTools } from './tools.ts';

/** Why tests with real attributes are skipped; empty if they are not. */
export const NO_ATTRIBUTE_TOOLS: string = missingTools('setfattr', 'getfattr', 'setfacl', 'setcap', 'getcap', 'lsattr');

/** Everything that the tools say about attributes, ACLs, capabilities and flags below a directory, and its holes. */
export function dumpAttributes(directory: string): string {
  const commands = [
    'find . | LC_ALL=C sort | while IFS= read -r name; do getfattr -h -d -m - -e hex "$name"; done',
    'getfacl -R -p -n . | LC_ALL=C sort',
    'getcap -r . | LC_ALL=C sort',
    // It cannot read those of links and special files, and shows how the file system stores a file (e).
    'lsattr -Ra . 2>/dev/null | grep " " | grep -v "/\\.*$" | tr -d e- | LC_ALL=C sort',
  ];
  const dumps = commands.map((command) => {
    const { stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8' });
    return `$ ${command}\n${stdout}${stderr}`;
  });
  return [...dumps, ...dumpHoles(directory)].join('\n');
}

function dumpHoles(directory: string): string[] {
  const lines: string[] = [];
  for (const [path, entry] of describeTree(directory)) {
    const { type, size } = JSON.parse(entry) as { type: string; size: string };
    if (type !== 'file') continue;
    const descriptor = openSync(Buffer.from(join(directory, path), 'latin1'), 'r');
    lines.push(`${path}: ${readHoleMap(descriptor, Number(size), () => undefined).join(' ')}`);
    closeSync(descriptor);
  }
  return lines.toSorted();
}

/** Makes it possible to remove a tree. */
export function unlockTree(directory: string): void {
  spawnSync('chattr', ['-R', '-f', '-i', '-a', directory]);
}
