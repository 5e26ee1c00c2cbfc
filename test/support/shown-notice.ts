import { describeNotice, levelOf } from '../../src/console/reports/notice-text.ts';
import type { NoticeLevel } from '../../src/console/reports/notice-text.ts';
import type { Notice } from '../../src/core/session/notices.ts';

/** Returns a notice as the command line shows it. */
export function shownNotice(notice: Notice): { readonly kind: NoticeLevel; readonly message: string } {
  return { kind: levelOf(notice), message: describeNotice(notice) };
}
