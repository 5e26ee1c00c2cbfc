export { check } from './check.ts';
export type {
  AffectedPath,
  CheckOptions,
  CheckResult,
  Disagreement,
  Finding,
  Impact,
  PackProblem,
  PartOfData,
  ReadData,
  VerificationLeft,
} from './check.ts';
export { checkStorage } from './check-storage.ts';
export type { StorageCheckOptions, StorageCheckResult } from './check-storage.ts';
export { surveyStorage } from './storage-survey.ts';
export type { StorageSurvey } from './storage-survey.ts';
