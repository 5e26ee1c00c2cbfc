export { addRepositoryKey, changeRepositoryPassword, listRepositoryKeys, removeRepositoryKeys } from './keys.ts';
export type {
  AddKeyOptions,
  AddKeyResult,
  ChangePasswordResult,
  KeyListing,
  KeyRole,
  ListedKey,
  UnusableKey,
} from './keys.ts';
export { exportKeys, importKeys, testKeyPage } from './key-pages.ts';
export type { ExportKeysResult, TestPageResult } from './key-pages.ts';
export { rotateMasterKey } from './key-rotation.ts';
export type { RotateResult } from './key-rotation.ts';
