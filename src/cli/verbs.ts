import type { Verb } from '../console/verb.ts';
import { defineAdopt } from '../realm/verbs/adopt/command.ts';
import { defineAgent } from '../realm/verbs/agent/command.ts';
import { defineBackup } from '../verbs/backup/command.ts';
import { defineCache } from '../verbs/cache/command.ts';
import { defineCat } from '../verbs/dump/cat-command.ts';
import { defineCheck } from '../verbs/check/command.ts';
import { defineCompact } from '../verbs/compact/command.ts';
import { defineCompletion } from '../verbs/completion/command.ts';
import { defineConfig } from '../verbs/config/command.ts';
import { defineCopy } from '../verbs/copy/command.ts';
import { defineDelete } from '../verbs/delete/command.ts';
import { defineDiff } from '../verbs/diff/command.ts';
import { defineDoctor } from '../verbs/doctor/command.ts';
import { defineDu } from '../verbs/du/command.ts';
import { defineDump } from '../verbs/dump/command.ts';
import { defineFilter } from '../filters/command.ts';
import { defineFind } from '../verbs/find/command.ts';
import { defineForget } from '../verbs/forget/command.ts';
import { defineGroup } from '../verbs/group/command.ts';
import { defineHave } from '../verbs/have/command.ts';
import { defineHelp } from '../console/help-command.ts';
import { defineHistory } from '../verbs/history/command.ts';
import { defineImportTar } from '../verbs/import-tar/command.ts';
import { defineInit } from '../verbs/init/command.ts';
import { defineKey } from '../verbs/key/command.ts';
import { defineLocate } from '../realm/verbs/locate/command.ts';
import { defineLog } from '../verbs/log/command.ts';
import { defineLs } from '../verbs/ls/command.ts';
import { defineOverdue } from '../verbs/overdue/command.ts';
import { definePin } from '../verbs/tag/pin-command.ts';
import { defineMount } from '../verbs/mount/command.ts';
import { defineRealm } from '../realm/verbs/realm/command.ts';
import { defineRepair } from '../verbs/repair/command.ts';
import { defineRestore } from '../verbs/restore/command.ts';
import { defineRewrite } from '../verbs/rewrite/command.ts';
import { defineRun } from '../verbs/run/command.ts';
import { defineSchedule } from '../verbs/schedule/command.ts';
import { defineServe } from '../verbs/serve/command.ts';
import { defineShow } from '../verbs/snapshots/show-command.ts';
import { defineSnapshots } from '../verbs/snapshots/command.ts';
import { defineStatus } from '../verbs/status/command.ts';
import { defineStats } from '../verbs/stats/command.ts';
import { defineTag } from '../verbs/tag/command.ts';
import { defineUndelete } from '../verbs/delete/undelete-command.ts';
import { defineUnpin } from '../verbs/tag/unpin-command.ts';
import { defineVersion } from '../verbs/version/command.ts';

/** All verbs, in the order of the help below each heading. */
export const VERBS: readonly Verb[] = [
  { heading: 'Everyday', define: defineBackup },
  { heading: 'Everyday', define: defineRestore },
  { heading: 'Everyday', define: defineMount },
  { heading: 'Everyday', define: defineRun },
  { heading: 'Everyday', define: defineLog },
  { heading: 'Everyday', define: defineStatus },
  { heading: 'Snapshots', define: defineSnapshots },
  { heading: 'Snapshots', define: defineTag },
  { heading: 'Snapshots', define: definePin },
  { heading: 'Snapshots', define: defineUnpin },
  { heading: 'Snapshots', define: defineRewrite },
  { heading: 'Snapshots', define: defineCopy },
  { heading: 'Snapshots', define: defineForget },
  { heading: 'Snapshots', define: defineDelete },
  { heading: 'Snapshots', define: defineUndelete },
  { heading: 'Files and archives', define: defineCat },
  { heading: 'Files and archives', define: defineDump },
  { heading: 'Files and archives', define: defineImportTar },
  { heading: 'Inspect', define: defineShow },
  { heading: 'Inspect', define: defineLs },
  { heading: 'Inspect', define: defineFind },
  { heading: 'Inspect', define: defineHistory },
  { heading: 'Inspect', define: defineDiff },
  { heading: 'Inspect', define: defineDu },
  { heading: 'Inspect', define: defineHave },
  { heading: 'Inspect', define: defineLocate },
  { heading: 'Repository', define: defineInit },
  { heading: 'Repository', define: defineCheck },
  { heading: 'Repository', define: defineDoctor },
  { heading: 'Repository', define: defineRepair },
  { heading: 'Repository', define: defineCompact },
  { heading: 'Repository', define: defineStats },
  { heading: 'Repository', define: defineKey },
  { heading: 'Repository', define: defineGroup },
  { heading: 'Repository', define: defineRealm },
  { heading: 'Repository', define: defineAdopt },
  { heading: 'Repository', define: defineAgent },
  { heading: 'Repository', define: defineCache },
  { heading: 'Repository', define: defineServe },
  { heading: 'Program', define: defineSchedule },
  { heading: 'Program', define: defineOverdue },
  { heading: 'Program', define: defineConfig },
  { heading: 'Program', define: defineCompletion },
  { heading: 'Program', define: defineVersion },
  { heading: 'Program', define: (program) => defineHelp(program, 'help backup') },
  { heading: 'Inside', define: defineFilter },
];
