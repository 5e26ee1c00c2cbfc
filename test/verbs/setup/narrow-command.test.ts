import stringWidth from 'string-width';
import { beforeEach, describe, expect, it } from 'vitest';

import { setSetupStage } from '../../support/setup-stage.ts';
import { hasTerminal } from '../../support/terminal-conversation.ts';

const PASSWORD = 'correct horse';

describe('on a narrow terminal', () => {
  beforeEach(({ skip }) => skip(!hasTerminal, 'script (of util-linux) is not installed'));

  it.each([40, 60])('setup breaks no word and fits into %i columns', async (columns) => {
    const answers = [
      ['Name of the profile', 'home\n'],
      ['What to back up', 'documents\n'],
      ['Where to', 'repository\n'],
      ['1 or 2', '\n'],
      ['New password', `${PASSWORD}\r`],
      ['Type it again', `${PASSWORD}\r`],
      ['How often', 'Mon..Fri 12:30\n'],
      ['Install that', 'y\n'],
      ['Run them', 'y\n'],
    ] as const;
    const { shown, code } = await setSetupStage().setUp(answers, {}, columns);
    expect(code, shown).toBe(0);
    const [asked, done] = shown.split('Run them') as [string, string];
    // What the commands print is their own.
    const lines = [...asked.split('\r\n'), ...done.split('\r\n').filter((line) => line.startsWith('$'))];
    const isBroken = (line: string): boolean => stringWidth(line) > columns && /\S \S/.test(line.replace(/ \\$/, ''));
    expect(lines.filter(isBroken)).toEqual([]);
    const words = (text: string): string => text.replaceAll(/(?: \\)?\s+/g, ' ');
    expect(words(asked)).toContain('This asks what to back up, where to and how often, and shows all commands');
    expect(words(asked)).toContain('(umask 077; cat > ~/.config/ldm/home.password)');
    expect(words(done)).toContain('To see how the runs go: ldm status');
    // Commands can be pasted: no line has a part of one and something else.
    expect(`${asked}${done}`).toMatch(/^ {2}ldm -p home key export \| lp\r$/m);
    if (columns === 40) expect(asked).toMatch(/^ {2}# create the repository\r\n {2}ldm -p home init\r$/m);
    else expect(asked).toMatch(/^ {2}ldm -p home init {4}# create the repository\r$/m);
  });
});
