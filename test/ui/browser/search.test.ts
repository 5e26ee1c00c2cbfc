import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect } from 'vitest';

import { makeTestRepository } from '../../support/test-repository.ts';
import { servePage } from '../support.ts';
import { browserTest, takePictures, withTab } from './support.ts';

describe('the page of the search in a browser', () => {
  browserTest('finds while one types, also only what was deleted, and shows names as text', async () => {
    const { source, context, backup } = await makeTestRepository();
    const names = ['report.txt', 'Reports 2026', 're<img src=x>port', 'other'];
    for (const name of names) writeFileSync(join(source, name), name);
    await backup();
    rmSync(join(source, 'report.txt'));
    await backup();
    const page = await servePage(context);
    const [newest, oldest] = (await page.ask('snapshots')).snapshots;
    await withTab(page.address, async (tab) => {
      await tab.getByRole('link', { name: 'Search' }).click();
      await tab.getByRole('searchbox').fill('report');
      await tab.getByText('2 paths in 2 snapshots').waitFor();
      const links = tab.getByRole('table').getByRole('link');
      expect(await links.allInnerTexts()).toEqual([join(source, 'Reports 2026'), join(source, 'report.txt')]);
      expect(await links.nth(0).getAttribute('href')).toContain(`#/browse?snapshot=${newest!.id}&path=`);
      await tab.getByLabel('only what was deleted later').check();
      await tab.getByText('1 path in 2 snapshots').waitFor();
      expect(await links.nth(0).getAttribute('href')).toContain(oldest!.id);
      expect(await tab.getByRole('row').nth(1).innerText()).toContain('deleted');
      // The words are in the address, for the way back.
      await tab.getByRole('link', { name: 'Snapshots' }).click();
      await tab.getByRole('heading', { name: 'Snapshots' }).waitFor();
      await tab.goBack();
      await tab.getByText('1 path in 2 snapshots').waitFor();
      expect(await tab.getByRole('searchbox').inputValue()).toBe('report');
      await tab.getByLabel('only what was deleted later').click();
      await tab.getByRole('searchbox').fill('<img');
      await tab.getByText('re<img src=x>port').waitFor();
      expect(await tab.evaluate('document.images.length')).toBe(0);
      await takePictures(tab, 'search');
    });
  });
});
