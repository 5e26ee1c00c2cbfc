import { VERSION } from '../core/util/version.ts';

/** `ldm 1.2.3 (node 20.19.0, linux x64)` */
export function describeVersion(): string {
  return `ldm ${VERSION} (node ${process.versions.node}, ${process.platform} ${process.arch})`;
}

/** Returns the same as JSON fields, with restic's names where the meaning is the same. */
export function versionFields(): Record<string, string> {
  return { version: VERSION, node_version: process.versions.node, os: process.platform, arch: process.arch };
}
