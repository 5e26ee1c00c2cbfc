import type { Notice } from '../../core/session/notices.ts';
import { displayPath } from '../output/display-path.ts';

const KINDS = [
  'realm-file-readable',
  'plane-not-published',
  'lender-unreachable',
  'loans-not-verified',
  'chunks-not-kept',
  'hold-not-released',
] as const;

type RealmNotice = Extract<Notice, { readonly kind: (typeof KINDS)[number] }>;

export function isRealmNotice(notice: Notice): notice is RealmNotice {
  return (KINDS as readonly string[]).includes(notice.kind);
}

const HOW_TO_JOIN =
  'run `ldm realm join --coordinator PLACE` again, with --moved if it was moved here; of a copy, use the original';

/** Words for what concerns other domains of the realm. */
export function describeRealmNotice(notice: RealmNotice): string {
  switch (notice.kind) {
    case 'realm-file-readable':
      return describeReadable(notice);
    case 'plane-not-published':
      return `the realm does not know of the changes yet: ${notice.reason}; ${notice.mustJoin ? HOW_TO_JOIN : 'the next backup or delete publishes them'}`;
    case 'lender-unreachable':
      return `the domain ${notice.domain} cannot be relied on, so everything is stored here: ${notice.reason}${notice.mustJoin ? `; ${HOW_TO_JOIN}` : ''}`;
    case 'loans-not-verified':
      return `it is not known whether the domain ${notice.domain} still keeps what snapshots need of it (${notice.reason}); ${notice.isStored ? 'what is found of that is stored here' : 'this command relies on it (`backup -f` does not)'}`;
    case 'chunks-not-kept':
      return `the domain ${notice.domain} did not keep everything that it had; the backup begins again and stores it here`;
    default:
      return `the domain ${notice.domain} still keeps chunks that are no longer needed: ${notice.reason}; ${notice.mustJoin ? HOW_TO_JOIN : 'the next `ldm compact` tries again'}`;
  }
}

function describeReadable({ path, mode }: Extract<Notice, { kind: 'realm-file-readable' }>): string {
  const digits = mode.toString(8).padStart(4, '0');
  return `other users may read the realm key file ${displayPath(path)} (mode ${digits}): run \`chmod 600\` on it`;
}
