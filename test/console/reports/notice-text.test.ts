import { expect, test } from 'vitest';

import { describeNotice } from '../../../src/console/reports/notice-text.ts';

const MINUTE_MS = 60_000;

test.each([
  [6, '6 minutes behind'],
  [-119, '119 minutes ahead of'],
  [180, '3 hours behind'],
  [-29_928_581, '20,784 days ahead of'],
])('a clock that is %d minutes off is described in a unit that can be read', (minutes, expected) => {
  const text = describeNotice({ kind: 'clocks-differ', aheadMs: minutes * MINUTE_MS });
  expect(text).toContain(`the clock of this machine is ${expected} that of the repository`);
});
