import type { MountResult, Mounted } from './mount.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { countNoun } from '../../console/output/words.ts';

/** Reports at once that the snapshots can be seen: programs wait for it. */
export function reportMounted(output: Output, { directory, snapshotCount }: Mounted): void {
  const shown = escapeForTerminal(directory);
  output.remark(`mounted ${countNoun(snapshotCount, 'snapshot')} at ${shown}; Ctrl+C to unmount`);
  output.message('mounted', { mountpoint: directory, snapshots_count: snapshotCount });
  output.flush();
}

export function reportUnmounted(output: Output, { directory, unmountedBy }: MountResult): void {
  output.remark(`unmounted ${escapeForTerminal(directory)}`);
  output.message('unmounted', { mountpoint: directory, unmounted_by: unmountedBy });
}
