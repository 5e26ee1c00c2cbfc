import stringWidth from 'string-width';
import { expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import { cleanEnvironment, ldmProgram } from '../../support/run-ldm.ts';
import { converse, hasTerminal } from '../../support/terminal-conversation.ts';

it.for([40, 50, 60])('stats breaks no word on a terminal of %i columns', async (columns, { skip }) => {
  skip(!hasTerminal, 'script (of util-linux) is not installed');
  const { source, repository, run } = await makeScenario();
  for (const host of ['tower', 'a-laptop-with-a-long-name']) await run(['backup', source, '--host', host]);
  const ldm = `'${process.execPath}' '${ldmProgram}' -r '${repository}' -v stats --by-file`;
  const terminal = converse(`stty cols ${columns}; ${ldm}`, cleanEnvironment({}));
  expect(await terminal.ended).toBe(0);
  const shown = terminal.shown();
  for (const line of shown.split('\r\n')) expect(stringWidth(line), line).toBeLessThanOrEqual(columns);
  const words = shown.replaceAll(/\s+/g, ' ');
  expect(words).toContain('Chains as walked (two saved ones share a head in memory): ');
  expect(words).toContain('a-laptop-with-a-long-name');
});
