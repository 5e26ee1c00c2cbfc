import { expect, it } from 'vitest';

import { PACKS_MAX, recallReadPacks, rememberReadPacks } from '../../../src/verbs/check/read-packs.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

it('the list of packs is bounded, and its largest size can be read', () => {
  const place = { directory: temporaryDirectory(), repositoryId: 'ab'.repeat(32), location: '/srv/backups' };
  const many = Array.from({ length: PACKS_MAX + 2 }, (_, index) => index.toString(16).padStart(32, '0'));
  rememberReadPacks(place, many, many);
  expect(many.filter(recallReadPacks(place))).toHaveLength(PACKS_MAX);
});
