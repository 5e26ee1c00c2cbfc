import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { servePage } from '../support.ts';
import type { ServedPage } from '../support.ts';
import { browserTest, takePictures, withTab } from './support.ts';

const HOSTILE = '<img src=x onerror=alert(1)>\u202eexe.\n';

async function serveSpace(): Promise<ServedPage> {
  const { source, context, backup } = await makeTestRepository();
  for (const path of ['music/live', 'mail', HOSTILE]) mkdirSync(join(source, path), { recursive: true });
  for (const [index, path] of ['music/live/song', 'mail/box', `${HOSTILE}/inner`, 'note.txt'].entries())
    writeFileSync(join(source, path), createPrng(index).bytes(40_000 - 9000 * index));
  for (const [number, hostname] of ['alpha', 'beta', 'alpha'].entries()) {
    writeFileSync(join(source, 'mail', `new ${number}`), createPrng(number + 9).bytes(8000));
    await backup({ hostname, time: `2026-0${number + 1}-05T10:00:00Z` });
  }
  return await servePage(context);
}

describe('the page of space in a browser', () => {
  browserTest('goes into directories by keyboard and back, and measures several snapshots as one', async () => {
    const page = await serveSpace();
    await withTab(page.address, async (tab) => {
      await tab.getByRole('link', { name: 'Space' }).click();
      const map = tab.getByRole('group', { name: /source.*: / });
      await map.getByRole('link', { name: 'music/: 39.1 KiB' }).press('Enter');
      await map.getByRole('link', { name: 'live/: 39.1 KiB' }).click();
      const table = tab.getByRole('table', { name: /music\/live, the largest first/ });
      await table.getByRole('row', { name: /^song 39.1 KiB/ }).waitFor();
      const crumbs = tab.getByRole('navigation', { name: 'Directories above' });
      await crumbs.getByRole('link', { name: 'music' }).click();
      await map.getByRole('link', { name: /^live/ }).waitFor();
      await tab.goBack();
      await table.waitFor();
      await crumbs.getByRole('link').first().click();
      await tab.getByRole('button', { name: 'All 2 snapshots' }).click();
      await tab.getByText('2 snapshots as one').waitFor();
      await map.getByRole('link', { name: 'music/: 78.1 KiB' }).waitFor();
      await tab.getByLabel('Only here').check();
      const ids = (await page.ask('snapshots')).snapshots.filter(({ host }) => host === 'alpha').map(({ id }) => id);
      const { storedBytes } = await page.ask('freed', { ids: ids.join(',') });
      await tab.getByRole('row', { name: new RegExp(`^Total .* ${(storedBytes / 1024).toFixed(1)} KiB$`) }).waitFor();
    });
  });

  browserTest('shows hostile names as text, is accessible, and fits windows of all widths', async () => {
    const page = await serveSpace();
    await withTab(page.address, async (tab) => {
      await tab.getByRole('link', { name: 'Space' }).click();
      await tab
        .getByRole('link', { name: /^<img src=x onerror=alert\(1\)>\\u\{202e\}exe\.\\u\{a\}\/: 21\.5 KiB/ })
        .waitFor();
      expect(await tab.evaluate('document.images.length')).toBe(0);
      await tab.getByText('Growth as a table').click();
      await tab.getByRole('row', { name: /^2026-01-05/ }).waitFor();
      await takePictures(tab, 'space');
    });
  });
});
