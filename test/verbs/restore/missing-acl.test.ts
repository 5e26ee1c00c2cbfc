import { chmodSync, lstatSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'vitest';

import { NO_ATTRIBUTE_TOOLS, dumpAttributes } from '../../support/attribute-dump.ts';
import { bringBack, makeStage, save } from '../../support/attribute-stage.ts';
import { runTool, testNeeding } from '../../support/tools.ts';
import { NO_ROOT } from '../../support/unprivileged.ts';

const needsRoot = testNeeding(NO_ATTRIBUTE_TOOLS, NO_ROOT);

needsRoot(`without its ACL, a file gives its group no more than before`, async () => {
  const stage = await makeStage();
  const file = join(stage.source, 'file');
  writeFileSync(file, 'private', { mode: 0o600 });
  runTool('setfacl', '-m', 'u:1000:rw,g::-', file);
  expect(lstatSync(file).mode & 0o777).toBe(0o660);
  await save(stage);
  const restored = join(stage.directory, 'target/tree/file');
  expect(await bringBack(stage, { xattr: false })).toMatchObject({ problems: [] });
  expect(lstatSync(restored).mode & 0o777).toBe(0o600);
  expect(await bringBack(stage, { overwrite: 'if-changed' })).toMatchObject({ problems: [] });
  expect(dumpAttributes(join(restored, '..'))).toBe(dumpAttributes(stage.source));
  // Its ACL is right, and stays as effective as it is.
  await bringBack(stage, { overwrite: 'if-changed', xattr: false });
  expect(dumpAttributes(join(restored, '..'))).toBe(dumpAttributes(stage.source));
});

needsRoot(`makes an existing file immutable only if its metadata is right`, async () => {
  const stage = await makeStage();
  for (const name of ['right', 'other']) {
    writeFileSync(join(stage.source, name), name);
    runTool('chattr', '+i', join(stage.source, name));
  }
  await save(stage);
  await bringBack(stage);
  const at = (name: string): string => join(stage.directory, 'target/tree', name);
  runTool('chattr', '-i', at('right'), at('other'));
  chmodSync(at('other'), 0o777);
  expect(await bringBack(stage)).toMatchObject({ problems: [], filesUnchanged: 2 });
  expect(runTool('lsattr', at('right'))).toMatch(/^-*i/);
  expect(runTool('lsattr', at('other'))).not.toMatch(/^-*i/);
});
