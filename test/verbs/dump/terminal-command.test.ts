import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { cleanEnvironment, ldmProgram } from '../../support/run-ldm.ts';
import { converse, hasTerminal } from '../../support/terminal-conversation.ts';

/** What a terminal shows of a command, and the exit code. */
type Shown = (words: string) => Promise<readonly [string, number | null]>;

async function makeShown(files: Readonly<Record<string, string | Uint8Array>>): Promise<Shown> {
  const { source, repository, run } = await makeScenario();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(source, name), content);
  await run(['backup', 'source']);
  return async (words) => {
    const environment = cleanEnvironment({ LDM_REPOSITORY: repository });
    const { ended, shown } = converse(`'${process.execPath}' '${ldmProgram}' ${words}`, environment);
    const code = await ended;
    return [shown(), code];
  };
}

describe('to a terminal', () => {
  beforeEach(({ skip }) => skip(!hasTerminal, 'script (of util-linux) is not installed'));

  it('dump refuses what is binary, unless it is meant, and says where else it can go', async () => {
    const shown = await makeShown({ large: createPrng(5).bytes(300_000) });
    const [archive, code] = await shown('dump latest');
    expect(code).toBe(2);
    expect(archive).toMatch(/would be an archive\r\nAdd `-o file\.tar` or `> file\.tar`, use a pipe, or add `-o -` /);
    const [file, fileCode] = await shown('dump latest:source/large');
    expect([file, fileCode]).toEqual([expect.stringMatching(/would be a binary file\r\nAdd `-o file` or `> file`/), 2]);
    expect(file.length).toBeLessThan(1000);
    const [meant, meantCode] = await shown('dump latest:source/sub -o -');
    expect([meant, meantCode]).toEqual([expect.stringContaining('ustar'), 0]);
  });

  it('dump writes text, and cat writes anything', async () => {
    const shown = await makeShown({ 'notes.txt': 'grüße\n'.repeat(20_000), binary: 'a\0b\n' });
    const [text, code] = await shown('dump latest:source/notes.txt');
    expect([text.match(/grüße\r\n/g)?.length, code]).toEqual([20_000, 0]);
    expect(await shown('cat latest:source/binary')).toEqual([expect.stringContaining('a\0b\r\n'), 0]);
  });
});
