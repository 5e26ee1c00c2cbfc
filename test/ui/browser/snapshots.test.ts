import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { describe, expect, vi } from 'vitest';

import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { formatBytes } from '../../../src/core/util/format-bytes.ts';
import { startBrowser } from '../../../src/ui/command.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { servePage } from '../support.ts';
import { browserTest, takePictures, withTab } from './support.ts';

const HOSTILE = '<img src=x onerror=alert(1)>\u202eexe.\n';

async function makeSnapshots(): Promise<TestRepository> {
  const repository = await makeTestRepository();
  for (const [number, hostname] of ['alpha', 'beta', 'alpha', 'gamma'].entries()) {
    writeFileSync(join(repository.source, `file ${number}`), `content ${number}`.repeat(500));
    const tags = number === 2 ? ['weekly', HOSTILE.trim()] : ['daily'];
    await repository.backup({ hostname, tags, time: `2026-0${number + 1}-05T10:00:00Z` });
  }
  return repository;
}

describe('the page of snapshots in a browser', () => {
  browserTest('lists them, filters them, and says what deleting the ticked ones frees', async () => {
    const { context } = await makeSnapshots();
    const page = await servePage(context);
    await withTab(page.address, async (tab) => {
      const rows = tab.getByRole('table', { name: /Snapshots/ }).getByRole('row');
      await tab.getByText('4 snapshots').waitFor();
      expect(await rows.count()).toBe(5);
      // The secret must not stay where others can see it.
      expect(tab.url()).not.toContain(page.token);
      await tab.getByLabel('Host').selectOption('alpha');
      await tab.getByText('2 snapshots of 4').waitFor();
      const boxes = tab.getByRole('checkbox', { name: /^Tick 2026/ });
      await boxes.nth(0).check();
      await boxes.nth(1).check();
      const bar = tab.getByRole('region', { name: 'Ticked snapshots' });
      const ids = (await page.ask('snapshots')).snapshots.filter(({ host }) => host === 'alpha').map(({ id }) => id);
      const { freed } = await deleteSnapshots(context, { selectors: ids, dryRun: true });
      await bar.getByText(`frees ${formatBytes(freed.storedBytes)}`).waitFor();
      expect(await bar.innerText()).toContain(`ldm delete ${ids.map((id) => id.slice(0, 8)).join(' ')}`);
      await tab.getByRole('button', { name: 'Untick all' }).click();
      await bar.waitFor({ state: 'detached' });
      await tab.reload();
      await tab.getByText('4 snapshots').waitFor();
    });
  });

  browserTest(
    'shows no figure of other snapshots than the ticked ones, and drops what was deleted meanwhile',
    async () => {
      const { context } = await makeSnapshots();
      const page = await servePage(context);
      await withTab(page.address, async (tab) => {
        await tab.getByText('4 snapshots').waitFor();
        const boxes = tab.getByRole('checkbox', { name: /^Tick 2026/ });
        await boxes.nth(0).check();
        const bar = tab.getByRole('region', { name: 'Ticked snapshots' });
        await bar.getByText(/frees/).waitFor();
        await tab.evaluate(`{
        const real = fetch;
        window.fetch = (address, ...rest) => /freed/.test(address) ? new Promise(() => {}) : real(address, ...rest);
      }`);
        await boxes.nth(1).check();
        await bar.getByText('2 snapshots ticked').waitFor();
        expect(await bar.innerText()).not.toContain('frees');
        const [newest] = (await page.ask('snapshots')).snapshots;
        await deleteSnapshots(context, { selectors: [newest!.id] });
        // Changes are noticed after two seconds.
        while ((await page.ask('snapshots')).snapshots.length === 4);
        await tab.evaluate('dispatchEvent(new Event("focus"))');
        await bar.getByText('1 snapshot ticked').waitFor();
        await tab.getByRole('link', { name: /^2026-03/ }).click();
        await tab.getByRole('heading', { name: 'Browse' }).waitFor();
        await tab.goBack();
        await bar.getByText('1 snapshot ticked').waitFor();
      });
    },
  );

  browserTest('shows hostile words as text, is accessible, and fits windows of all widths', async () => {
    const page = await servePage((await makeSnapshots()).context);
    await withTab(page.address, async (tab) => {
      await tab.getByRole('table').getByText('<img src=x onerror=alert(1)>\\u{202e}exe.').waitFor();
      expect(await tab.evaluate('document.images.length')).toBe(0);
      await tab.getByRole('checkbox', { name: /^Tick 2026-04/ }).check();
      await tab.getByText(/frees/).waitFor();
      await takePictures(tab, 'snapshots');
    });
  });

  browserTest('draws the newest of many, and ticks all of them', async () => {
    const { context, backup } = await makeTestRepository();
    for (let number = 0; number < 205; number += 1) await backup({ hostname: number === 0 ? 'old' : 'new' });
    const page = await servePage(context);
    await withTab(page.address, async (tab) => {
      const rows = tab.getByRole('table', { name: /Snapshots/ }).getByRole('row');
      await tab.getByText('205 snapshots').waitFor();
      expect(await rows.count()).toBe(201);
      await tab.getByRole('checkbox', { name: 'Tick all 205' }).check();
      await tab.getByText('205 snapshots ticked').waitFor();
      await tab.getByRole('button', { name: 'Untick all' }).click();
      await tab.getByRole('button', { name: 'Show older ones: 5 more' }).click();
      expect(await rows.count()).toBe(206);
      expect(await rows.nth(205).innerText()).toContain('old');
    });
  });

  browserTest('opens from the file that the command gives to the browser', async () => {
    const page = await servePage((await makeSnapshots()).context);
    const directory = memoryDirectory();
    vi.stubEnv('XDG_RUNTIME_DIR', directory);
    vi.stubEnv('PATH', directory);
    startBrowser(page.address, () => undefined);
    vi.unstubAllEnvs();
    const file = pathToFileURL(join(directory, readdirSync(directory)[0]!, 'open.html'));
    await withTab(file.href, async (tab) => {
      await tab.getByText('4 snapshots').waitFor();
      expect(tab.url()).toBe(`http://127.0.0.1:${page.port}/#/`);
    });
  });

  browserTest('says what to do when the command has ended', async () => {
    const page = await servePage((await makeSnapshots()).context);
    await withTab(
      page.address,
      async (tab) => {
        const box = tab.getByRole('checkbox', { name: /^Tick 2026-04/ });
        await box.waitFor();
        await page.close();
        await box.check();
        expect(await tab.getByRole('alert').innerText()).toContain('Start it again and open the new address');
      },
      /ERR_CONNECTION_REFUSED/,
    );
  });

  browserTest('with a wrong secret says so', async () => {
    const page = await servePage((await makeSnapshots()).context);
    await withTab(
      page.address.slice(0, -1),
      async (tab) => {
        expect(await tab.getByRole('alert').first().innerText()).toContain('open the address that the command printed');
      },
      /401/,
    );
  });
});
