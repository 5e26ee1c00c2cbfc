import { describeAction } from '../../src/verbs/repair/action-text.ts';
import { fileOf, impactOf, messageOf } from '../../src/console/reports/finding-text.ts';
import type { Finding, Impact } from '../../src/verbs/check/check.ts';
import type { RepairAction } from '../../src/verbs/repair/repair.ts';

/** A finding as a user sees it. */
export interface DescribedFinding extends Partial<Impact> {
  readonly severity: Finding['severity'];
  readonly kind: Finding['kind'];
  readonly message: string;
  readonly file?: string;
}

export function describeFinding(finding: Finding): DescribedFinding {
  const { severity, kind } = finding;
  const file = fileOf(finding);
  return { severity, kind, message: messageOf(finding), ...(file === undefined ? {} : { file }), ...impactOf(finding) };
}

/** A repair action as a user sees it. */
export interface DescribedAction extends ReturnType<typeof describeAction> {
  readonly kind: RepairAction['kind'];
}

export function describeRepairAction(action: RepairAction): DescribedAction {
  return { kind: action.kind, ...describeAction(action) };
}
