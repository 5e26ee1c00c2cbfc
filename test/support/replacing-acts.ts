import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { rewriteSnapshots } from '../../src/verbs/rewrite/rewrite.ts';
import { pinSnapshots } from '../../src/verbs/tag/tag.ts';
import { BACKUP, setStage } from './crash-stage.ts';
import type { Act, Stage, TreeDescription } from './crash-stage.ts';
import { simulatedProcess } from './simulated-process.ts';

/**
 * An act that puts manifests in the place of others, for two of three snapshots. What is listed of each of the two is
 * written with letters: P present as it was backed up, R present without what was left out, D deleted.
 */
export interface ReplacingAct extends Act {
  /** What precedes the act in the same repository. */
  readonly prepare: ((context: OperationContext, stage: Stage) => Promise<unknown>)[];
  /** After an interruption. */
  readonly allowed: RegExp;
  /** After the whole act. */
  readonly done: string;
  /** After what can be undone was undone, and a compaction. */
  readonly settled: RegExp;
}

const LATER = '2999-01-01T00:00:00Z';
const PAST = '2000-01-01T00:00:00Z';
/** Only some of the snapshots have it in a directory of its own. */
const LEFT_OUT = 'deep';

type Run = Act['run'];

const selectorsOf = ({ snapshotIds }: Stage): readonly string[] => snapshotIds.slice(0, 2);
const compactAll: Run = async (context) => compact(context, { maxUnusedPercent: 0 });
const undelete: Run = async (context, stage) => undeleteSnapshots(context, { selectors: selectorsOf(stage) });
const deleteUntil =
  (undoUntil: string): Run =>
  async (context, stage) =>
    deleteSnapshots(context, { selectors: selectorsOf(stage), undoUntil });
const rewrite =
  (forget: boolean): Run =>
  async (context, stage) =>
    rewriteSnapshots(context, { selectors: selectorsOf(stage), patterns: { exact: [LEFT_OUT] }, forget });

function replacing(name: string, run: Run, given: Pick<ReplacingAct, 'prepare' | 'allowed' | 'done' | 'settled'>) {
  return { ...BACKUP, name, run, ...given };
}

export const REPLACING_ACTS: readonly ReplacingAct[] = [
  replacing('pin', async (context, stage) => pinSnapshots(context, { selectors: selectorsOf(stage) }), {
    prepare: [],
    allowed: /^P$/,
    done: 'P',
    settled: /^P$/,
  }),
  replacing('delete for a time', deleteUntil(LATER), { prepare: [], allowed: /^[PD]$/, done: 'D', settled: /^P$/ }),
  replacing('undelete', undelete, {
    prepare: [deleteUntil(LATER)],
    allowed: /^[PD]$/,
    done: 'P',
    settled: /^P$/,
  }),
  replacing('undelete after a compaction', undelete, {
    prepare: [deleteUntil(LATER), compactAll],
    allowed: /^[PD]$/,
    done: 'P',
    settled: /^P$/,
  }),
  replacing('compact after the time', compactAll, {
    prepare: [deleteUntil(PAST)],
    allowed: /^D?$/,
    done: '',
    settled: /^$/,
  }),
  replacing('rewrite', rewrite(false), { prepare: [], allowed: /^PR?$/, done: 'PR', settled: /^PR?$/ }),
  // Between its two steps there are both.
  replacing('rewrite and forget', rewrite(true), {
    prepare: [],
    allowed: /^(P|PR|DR)$/,
    done: 'DR',
    settled: /^(P|PR|R)$/,
  }),
];

export async function setReplacingStage(directory: string, act: ReplacingAct): Promise<Stage> {
  const stage = await setStage(directory, act);
  for (const step of act.prepare) await step(simulatedProcess(stage.backend), stage);
  return stage;
}

/** The tree of a rewritten snapshot. */
export function withoutLeftOut(tree: TreeDescription): TreeDescription {
  return new Map([...tree].filter(([path]) => !path.split('/').includes(LEFT_OUT)));
}
