import { describeNotice, levelOf } from '../../src/cli/reports/notice-text.ts';
import type { NoticeLevel } from '../../src/cli/reports/notice-text.ts';
import type { Notice } from '../../src/operations/notices.ts';

/** Returns a notice as the command line shows it. */
export function shownNotice(notice: Notice): { readonly kind: NoticeLevel; readonly message: string } {
  return { kind: levelOf(notice), message: describeNotice(notice) };
}
