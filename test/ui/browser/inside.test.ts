import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect } from 'vitest';

import { collectStats } from '../../../src/verbs/stats/stats.ts';
import { createPrng } from '../../support/prng.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import { servePage } from '../support.ts';
import { browserTest, takePictures, withTab } from './support.ts';

describe('the page about the filter in a browser', () => {
  browserTest('has the figures of `stats`, is accessible, and fits windows of all widths', async () => {
    const { context, source, backup } = await makeTestRepository({ chunker: TINY_CHUNKS });
    writeFileSync(join(source, 'file'), createPrng(1).bytes(400_000));
    await backup();
    const { filter } = await collectStats(context);
    const page = await servePage(context);
    expect((await page.ask('stats')).filter.counterHistogram).toEqual(filter.counterHistogram);
    await withTab(page.address, async (tab) => {
      await tab.getByRole('link', { name: 'Inside' }).click();
      const figure = (text: string) => tab.getByRole('definition').getByText(text).waitFor();
      await figure(`${filter.elements} of ${filter.capacity}`);
      const rate = 100 * filter.fprMeasured;
      await figure(`${rate < 0.1 ? rate.toPrecision(2) : rate.toFixed(1)} % measured`);
      await tab.getByText('Counters by value as a table').click();
      const counters = tab.getByRole('table', { name: /Counters by value/ }).getByRole('row');
      await counters.nth(1).waitFor();
      expect(await counters.count()).toBeGreaterThanOrEqual(2 + filter.counterMax);
      const zeros = filter.counterHistogram[0]!.toLocaleString('en-US');
      expect(await counters.nth(1).innerText()).toMatch(new RegExp(`^0\\s+${zeros}\\s+`));
      await tab.getByText('Chains by length as a table').click();
      const chains = tab.getByRole('table', { name: /Chains by length/ }).getByRole('row');
      await chains.nth(1).waitFor();
      const { walkedChains, savedChains } = filter;
      expect(await chains.nth(1).innerText()).toMatch(
        new RegExp(`^1\\s+${walkedChains.histogram[1]}\\s+${savedChains.histogram[1]}$`),
      );
      await takePictures(tab, 'inside');
    });
  });
});
