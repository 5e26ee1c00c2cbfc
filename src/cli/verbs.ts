import type { Verb } from '../console/verb.ts';
import { formatOptionsHelp } from './program-help.ts';
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
import { defineSetup } from '../verbs/setup/command.ts';
import { defineShow } from '../verbs/snapshots/show-command.ts';
import { defineSnapshots } from '../verbs/snapshots/command.ts';
import { defineStatus } from '../verbs/status/command.ts';
import { defineStats } from '../verbs/stats/command.ts';
import { defineTag } from '../verbs/tag/command.ts';
import { defineUi } from '../ui/command.ts';
import { defineUndelete } from '../verbs/delete/undelete-command.ts';
import { defineUnpin } from '../verbs/tag/unpin-command.ts';
import { defineVersion } from '../verbs/version/command.ts';

/** All verbs, in the order of the help below each heading. */
export const VERBS: readonly Verb[] = [
  { heading: 'Everyday', define: defineSetup, page: 'automation.md#set-up-by-questions-ldm-setup' },
  { heading: 'Everyday', define: defineInit },
  { heading: 'Everyday', define: defineBackup },
  { heading: 'Everyday', define: defineSnapshots },
  { heading: 'Everyday', define: defineLs },
  { heading: 'Everyday', define: defineFind },
  { heading: 'Everyday', define: defineRestore, page: 'restore.md' },
  { heading: 'Everyday', define: defineMount },
  { heading: 'Everyday', define: defineUi, page: 'ui.md' },
  { heading: 'Everyday', define: defineForget, page: 'retention.md' },
  { heading: 'Everyday', define: defineDelete },
  { heading: 'Everyday', define: defineCheck },
  { heading: 'Everyday', define: defineRun, page: 'automation.md#the-whole-job-ldm-run' },
  { heading: 'Everyday', define: defineSchedule, page: 'automation.md#a-schedule-ldm-schedule' },
  { heading: 'Everyday', define: defineStatus, page: 'automation.md' },
  { heading: 'Snapshots', define: defineShow },
  { heading: 'Snapshots', define: defineTag },
  { heading: 'Snapshots', define: definePin, page: 'retention.md#pins' },
  { heading: 'Snapshots', define: defineUnpin },
  { heading: 'Snapshots', define: defineUndelete, page: 'retention.md' },
  { heading: 'Snapshots', define: defineRewrite },
  { heading: 'Snapshots', define: defineCopy, page: 'automation.md#a-second-copy' },
  { heading: 'Files', define: defineCat },
  { heading: 'Files', define: defineDump },
  { heading: 'Files', define: defineHistory },
  { heading: 'Files', define: defineDiff },
  { heading: 'Files', define: defineDu },
  { heading: 'Files', define: defineHave },
  { heading: 'Files', define: defineImportTar, page: 'switching.md#importing-the-history' },
  { heading: 'Repository', define: defineKey, page: 'security.md#keys-and-passwords' },
  { heading: 'Repository', define: defineStats },
  { heading: 'Repository', define: defineCompact },
  { heading: 'Repository', define: defineRepair },
  { heading: 'Repository', define: defineCache, page: 'remote.md#cache' },
  { heading: 'Scheduled backups', define: defineLog, page: 'automation.md' },
  { heading: 'Scheduled backups', define: defineOverdue, page: 'automation.md#is-anything-overdue-ldm-overdue' },
  { heading: 'Scheduled backups', define: defineConfig, page: 'automation.md#profiles' },
  { heading: 'Several repositories', define: defineGroup, page: 'groups.md' },
  {
    heading: 'Several repositories',
    define: defineServe,
    page: 'remote.md#a-server-that-clients-can-only-add-to-ldm-serve',
  },
  { heading: 'Several repositories', define: defineRealm, page: 'domains.md' },
  { heading: 'Several repositories', define: defineAgent, page: 'domains.md' },
  { heading: 'Several repositories', define: defineLocate, page: 'domains.md' },
  { heading: 'Several repositories', define: defineAdopt, page: 'domains.md#rely-on-another-domain-experimental' },
  { heading: 'Program', define: defineDoctor },
  { heading: 'Program', define: defineCompletion },
  { heading: 'Program', define: defineVersion },
  {
    heading: 'Program',
    define: (program) => defineHelp(program, 'help backup', { options: () => formatOptionsHelp(program) }),
  },
  { heading: 'Inside', define: defineFilter, page: 'filters.md' },
];
