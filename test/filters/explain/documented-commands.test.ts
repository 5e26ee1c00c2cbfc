import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeFilterDesk, type FilterDesk } from '../../support/filter-desk.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/filters.md'), 'utf8');
const SECTION = /^## Filters of any keys[^]*?(?=^## )/m.exec(PAGE)![0];
const BLOCKS = [...SECTION.matchAll(/^```console\n([^]*?)^```$/gm)].map(([, block]) => block!);

/** The command lines of a block and what each of them printed. */
function commandsOf(block: string): { readonly command: string; readonly printed: string }[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((entry) => {
      const [command, ...lines] = entry.trimEnd().split('\n');
      return { command: command!, printed: lines.join('\n') };
    });
}

async function outputOf(desk: FilterDesk, command: string): Promise<string> {
  const words = /^ldm filter ([^|<>'"]*)$/.exec(command)?.[1]?.split(' ');
  if (words === undefined) return desk.shell(command.replaceAll('ldm filter', 'ldm-filter')).stdout;
  return (await desk.filter(words)).stdout;
}

it('each command about filters of any keys prints what the page shows, one after the other', async () => {
  const desk = makeFilterDesk();
  const commands = BLOCKS.flatMap(commandsOf);
  expect(commands.length).toBeGreaterThan(7);
  for (const { command, printed } of commands) {
    expect((await outputOf(desk, command)).trimEnd(), command).toBe(printed);
  }
});
