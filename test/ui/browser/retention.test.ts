import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect } from 'vitest';

import { formatBytes } from '../../../src/core/util/format-bytes.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { servePage } from '../support.ts';
import { browserTest, takePictures, withTab } from './support.ts';

const DAY_MS = 86_400_000;

describe('the page of the retention in a browser', () => {
  browserTest('shows which days rules keep, what they free, and how to write them', async () => {
    const { source, context, backup } = await makeTestRepository();
    for (let days = 9; days >= 0; days -= 1) {
      writeFileSync(join(source, 'file'), `content ${days}`.repeat(1000));
      await backup({ time: new Date(Date.now() - days * DAY_MS).toISOString(), hostname: 'host', tags: ['nightly'] });
    }
    const page = await servePage(context);
    await withTab(
      page.address,
      async (tab) => {
        await tab.getByRole('link', { name: 'Retention' }).click();
        await tab.getByRole('textbox', { name: 'keep-weekly', exact: true }).fill('');
        await tab.getByRole('textbox', { name: 'keep-monthly', exact: true }).fill('0');
        await tab.getByRole('textbox', { name: 'keep-daily', exact: true }).fill('4');
        await tab.getByText('6 snapshots would go, 4 stay.').waitFor();
        const { freed } = await forgetByPolicy(context, { policy: { counts: { daily: 4 } }, dryRun: true });
        expect(await tab.getByRole('status').innerText()).toContain(`That frees ${formatBytes(freed.storedBytes)} `);
        const group = tab.getByRole('region', { name: /^host host/ });
        await group.getByRole('img', { name: /10 of \d+ days have snapshots, 6 to be deleted$/ }).waitFor();
        await group.getByText('10 snapshots: 6 would go').click();
        const rows = await group
          .getByRole('table', { name: /^Snapshots of/ })
          .getByRole('row')
          .allInnerTexts();
        expect(rows.filter((row) => row.includes('stays')).every((row) => row.includes('daily snapshot'))).toBe(true);
        expect(rows.filter((row) => row.includes('goes'))).toHaveLength(6);
        await tab.getByText('Command line and profile').click();
        expect(await tab.getByRole('group', { name: 'Command line' }).innerText()).toContain(
          'ldm forget --keep-daily 4',
        );
        expect(await tab.getByRole('group', { name: 'Profile' }).innerText()).toContain(
          '[profiles.NAME.forget]\nkeep-daily = 4',
        );
        // From unlimited, one step back with the keyboard.
        const slider = tab.getByRole('slider', { name: /^keep-daily/ });
        await slider.press('End');
        await tab.getByText('0 snapshots would go, 10 stay.').waitFor();
        expect(await tab.getByRole('textbox', { name: 'keep-daily', exact: true }).inputValue()).toBe('unlimited');
        await slider.press('ArrowLeft');
        expect(await tab.getByRole('textbox', { name: 'keep-daily', exact: true }).inputValue()).toBe('60');
        await tab.getByRole('textbox', { name: 'keep-daily', exact: true }).fill('6');
        await tab.getByText('4 snapshots would go, 6 stay.').waitFor();
        await takePictures(tab, 'retention');
        await tab.getByLabel('keep-within').fill('soon');
        expect(await tab.getByRole('alert').innerText()).toContain('Give years, months, weeks, days and hours');
      },
      /400/,
    );
  });
});
