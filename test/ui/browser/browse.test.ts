import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { servePage } from '../support.ts';
import { browserTest, takePictures, withTab } from './support.ts';
import type { Tab } from './support.ts';

const ENTRIES = 10_000;
/** A picture of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const EVIL = '<script>document.title = "evil"</script>';

async function makeHistory(entries = 3): Promise<TestRepository> {
  const repository = await makeTestRepository();
  const { source } = repository;
  mkdirSync(join(source, 'documents/letters'), { recursive: true });
  mkdirSync(join(source, 'many'));
  const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(source, name), content);
  for (let number = 0; number < entries; number += 1) write(`many/file ${String(number).padStart(5, '0')}`, '');
  write('documents/picture.png', PNG);
  write('documents/drawing.svg', `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${EVIL}</svg>`);
  write('documents/page.html', `${EVIL}<img src="x" onerror="document.title='evil'">`);
  write('documents/noise', createPrng(1).bytes(3000));
  symlinkSync('letters', join(source, 'documents/link'));
  writeFileSync(Buffer.from(`${source}/documents/caf\xe9 <b>\n`, 'latin1'), 'odd');
  const lines = Array.from({ length: 12 }, (_, number) => `line ${number}`);
  for (const [month, line] of ['first', 'second', 'second', 'third'].entries()) {
    write('documents/letters/letter', `${lines.with(5, line).join('\n')}\n`);
    if (month === 1) mkdirSync(join(source, 'documents/later'));
    await repository.backup({ hostname: 'alpha', time: `2026-0${month + 1}-05T10:00:00Z` });
  }
  return repository;
}

async function open(tab: Tab, ...names: readonly string[]): Promise<void> {
  await tab.getByRole('link', { name: 'Browse', exact: true }).click();
  const contents = tab.getByRole('region', { name: 'Contents' });
  for (const name of ['source', ...names]) await contents.getByRole('link', { name, exact: true }).click();
}

describe('the page Browse in a browser', () => {
  browserTest('leads to a file, through its versions, and gives it back', async () => {
    const repository = await makeHistory();
    const page = await servePage(repository.context);
    await withTab(page.address, async (tab) => {
      await open(tab, 'documents', 'letters', 'letter');
      await tab.getByText('line 11').waitFor();
      expect(await tab.getByRole('navigation', { name: 'Path' }).getByRole('link').allInnerTexts()).toEqual([
        repository.directory,
        'source',
        'documents',
        'letters',
        'letter',
      ]);
      const versions = tab.getByRole('table', { name: /Versions/ });
      await versions.getByRole('link', { name: '2026-02-05' }).waitFor();
      expect(await versions.getByRole('row').count()).toBe(4);
      await tab.getByRole('button', { name: /Compare with 2026-02/ }).click();
      const difference = tab.getByRole('region', { name: 'Difference' });
      await difference.getByText('-second').waitFor();
      expect(await difference.innerText()).toMatch(/-second\n+\+third\n/);
      const download = tab.waitForEvent('download');
      await tab.getByRole('button', { name: 'Download', exact: true }).click();
      const saved = await download;
      expect(saved.suggestedFilename()).toBe('letter');
      expect(readFileSync(await saved.path(), 'utf8')).toContain('third');
      await tab.getByText(/^Restore$/).click();
      const { id } = await page.ask('timeline');
      expect(await tab.getByRole('group', { name: 'Restore here' }).innerText()).toContain(
        `ldm restore ${id.slice(0, 8)}:source/documents/letters/letter --target .`,
      );
    });
  });

  browserTest('goes through time and stays at the directory', async () => {
    const page = await servePage((await makeHistory()).context);
    await withTab(
      page.address,
      async (tab) => {
        await open(tab, 'documents', 'later');
        const slider = tab.getByRole('slider', { name: 'Snapshot' });
        expect(await slider.getAttribute('aria-valuetext')).toMatch(/^2026-04-05 .*, 4 of 4$/);
        await slider.focus();
        await slider.press('Home');
        await tab
          .getByRole('alert')
          .getByText(/documents\/later is not in snapshot/)
          .waitFor();
        expect(await slider.getAttribute('aria-valuetext')).toMatch(/^2026-01-05 .*, 1 of 4$/);
        await tab.getByRole('button', { name: 'Later' }).click();
        await tab.getByText('0 entries').waitFor();
        expect(await slider.getAttribute('aria-valuetext')).toMatch(/2 of 4$/);
        await tab.getByRole('link', { name: 'documents', exact: true }).click();
        await tab.getByRole('link', { name: 'drawing.svg' }).waitFor();
        expect(await slider.inputValue()).toBe('1');
        await tab.goBack();
        await tab.getByText('0 entries').waitFor();
      },
      /404/,
    );
  });

  browserTest('has a tree for the keyboard', async () => {
    const page = await servePage((await makeHistory()).context);
    await withTab(page.address, async (tab) => {
      await open(tab);
      const tree = tab.getByRole('tree', { name: 'Directories' });
      await tree.getByText('many').waitFor();
      const focused = async (): Promise<string> => await tab.evaluate('document.activeElement.title');
      const stateOf = async (name: string): Promise<string | null> =>
        await tree.getByRole('treeitem', { name }).getAttribute('aria-expanded');
      await tree.getByRole('treeitem').first().focus();
      for (const [key, expected] of [
        ['ArrowDown', 'source'],
        ['ArrowDown', 'documents'],
        ['End', 'many'],
        ['ArrowDown', 'many'],
        ['ArrowUp', 'documents'],
      ] as const) {
        await tab.keyboard.press(key);
        expect([key, await focused()]).toEqual([key, expected]);
      }
      expect(await stateOf('documents')).toBe('false');
      await tab.keyboard.press('ArrowRight');
      await tree.getByText('letters').waitFor();
      expect(await stateOf('documents')).toBe('true');
      await tab.keyboard.press('ArrowRight');
      expect(await focused()).toBe('later');
      await tab.keyboard.press('ArrowLeft');
      expect(await focused()).toBe('documents');
      await tab.keyboard.press('ArrowLeft');
      await tree.getByText('letters').waitFor({ state: 'detached' });
      await tab.keyboard.press('Enter');
      await tab.getByRole('link', { name: 'drawing.svg' }).waitFor();
      expect(await tree.getByRole('treeitem', { name: 'documents' }).getAttribute('aria-selected')).toBe('true');
    });
  });

  browserTest('has all of a large directory, and few elements', async () => {
    const page = await servePage((await makeHistory(ENTRIES)).context);
    await withTab(page.address, async (tab) => {
      await open(tab, 'many');
      await tab.getByText('10,000 entries').waitFor();
      const rows = tab.getByRole('table').getByRole('row');
      for (const [position, name] of [
        ['1', 'file 09999'],
        ['0.5', 'file 05000'],
        ['0', 'file 00000'],
      ] as const) {
        await tab.evaluate(
          `(() => { const rows = document.querySelector('.rows'); rows.scrollTop = rows.scrollHeight * ${position}; })()`,
        );
        await tab.getByRole('link', { name }).waitFor();
        expect(await rows.count()).toBeLessThanOrEqual(201);
        expect(await isVisible(tab, name)).toBe(true);
      }
    });
  });

  browserTest('shows hostile files and names as what they are', async () => {
    const page = await servePage((await makeHistory()).context);
    await withTab(page.address, async (tab) => {
      await open(tab, 'documents', 'page.html');
      await tab.getByText('<script>document.title = "evil"</script><img').waitFor();
      await tab.goBack();
      await tab.getByRole('link', { name: 'drawing.svg' }).click();
      await tab.getByRole('img', { name: 'drawing.svg' }).waitFor();
      await tab.goBack();
      await tab.getByRole('link', { name: 'picture.png' }).click();
      await tab.getByRole('img', { name: 'picture.png' }).waitFor();
      expect(await tab.evaluate('document.querySelector("main img").naturalWidth')).toBe(1);
      await tab.goBack();
      await tab.getByRole('link', { name: 'noise' }).click();
      await tab.getByText('The content is binary').waitFor();
      await tab.goBack();
      await tab.getByRole('link', { name: /^caf\ufffd <b>\\u\{a\}$/ }).click();
      await tab.getByText('odd').waitFor();
      await tab.getByText(/^Restore$/).click();
      expect(await tab.getByRole('group', { name: 'Restore here' }).innerText()).toContain(
        String.raw`:source/documents/caf\351 <b>\012' --target .`,
      );
      expect(await tab.title()).toBe('Browse - ldm');
    });
  });

  browserTest('is accessible, and fits windows of all widths', async () => {
    const page = await servePage((await makeHistory()).context);
    await withTab(page.address, async (tab) => {
      await open(tab, 'documents');
      await tab.getByText(/^Restore$/).click();
      await takePictures(tab, 'browse');
      await tab.getByRole('link', { name: 'letters', exact: true }).click();
      await tab.getByRole('link', { name: 'letter', exact: true }).click();
      await tab.getByRole('button', { name: /Compare with 2026-02/ }).click();
      await tab.getByText('+third').waitFor();
      await takePictures(tab, 'browse-file');
    });
  });
});

/** Whether a row of the list is where one can see it. */
async function isVisible(tab: Tab, name: string): Promise<boolean> {
  return await tab.evaluate(`(() => {
    const list = document.querySelector('.rows').getBoundingClientRect();
    const row = [...document.querySelectorAll('.rows a')].find((link) => link.textContent === '${name}');
    const { top, bottom } = row.getBoundingClientRect();
    return top >= list.top && bottom <= list.bottom;
  })()`);
}
