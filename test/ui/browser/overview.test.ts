import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, vi } from 'vitest';

import { RunRecords, runsDirectory } from '../../../src/console/jobs/run-records.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { servePage } from '../support.ts';
import { browserTest, takePictures, withTab } from './support.ts';

const DAY_MS = 86_400_000;

describe('the overview in a browser', () => {
  browserTest('shows days as a strip and as a table, what is overdue, and the last runs', async () => {
    vi.stubEnv('XDG_STATE_HOME', memoryDirectory());
    const { source, context, backup } = await makeTestRepository();
    writeFileSync(join(source, 'file'), 'content');
    for (const [days, hostname] of [
      [40, 'away'],
      [3, 'away'],
      [2, 'away'],
      [0, '<b>here'],
    ] as const) {
      const sources = days === 2 ? [source, join(source, 'lost')] : [source];
      await backup({ time: new Date(Date.now() - days * DAY_MS).toISOString(), hostname, sources });
    }
    const start = new Date().toISOString();
    const run = { id: '1', start, result: 'failed', exitCode: 1, message: 'the disk is full', steps: [] } as const;
    const records = new RunRecords(runsDirectory(process.env)!, 'home');
    records.begin('1', start);
    records.end(run);
    const page = await servePage(context);
    await withTab(page.address, async (tab) => {
      await tab.getByRole('link', { name: 'Overview' }).click();
      const away = tab.getByRole('region', { name: /^away/ });
      expect(await away.innerText()).toMatch(/OVERDUE newest .* \(2 d ago\), 3 snapshots/);
      await away.getByRole('img', { name: /: 3 of \d+ days have snapshots, 1 with problems$/ }).waitFor();
      await away.getByText('Days as a table').click();
      const rows = await away
        .getByRole('table', { name: /^Days with snapshots of away/ })
        .getByRole('row')
        .allInnerTexts();
      expect(rows.slice(1).map((row) => row.split('\t')[1])).toEqual([
        'no snapshot',
        '1 snapshot, 1 with files that could not be read',
        '1 snapshot',
        'no snapshot',
        '1 snapshot',
        'no snapshot',
      ]);
      expect(await tab.getByRole('region', { name: /^<b>here/ }).innerText()).toContain('ok newest');
      await tab.getByLabel('Overdue after hours').fill('100');
      await away.getByText('ok').waitFor();
      expect(await tab.getByRole('table', { name: /^The last runs/ }).innerText()).toContain('the disk is full');
      await takePictures(tab, 'overview');
    });
    vi.unstubAllEnvs();
  });
});
