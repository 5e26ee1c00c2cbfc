import { statfsSync } from 'node:fs';

/**
 * File systems whose files the kernel generates on each read (linux/magic.h): proc, sysfs, debugfs, tracefs,
 * securityfs, configfs, both versions of cgroup, bpf, pstore, selinuxfs, binfmt_misc, fusectl, nfsd and rpc_pipefs.
 */
const GENERATING = new Set([
  0x9fa0, 0x62656572, 0x64626720, 0x74726163, 0x73636673, 0x62656570, 0x27e0eb, 0x63677270, 0xcafe4a11, 0x6165676c,
  0xf97cff8c, 0x42494e4d, 0x65735543, 0x6e667364, 0x67596969,
]);

/** Returns whether the kernel generates an open file on each read. The size of such a file is meaningless. */
export function isGenerated(descriptor: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return GENERATING.has(statfsSync(`/proc/self/fd/${descriptor}`).type);
  } catch {
    // Without /proc, the file system cannot be determined, so the sizes of its files are trusted.
    return false;
  }
}
