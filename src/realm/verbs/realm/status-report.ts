import type { DomainStatus, RealmStatus } from './status.ts';
import { stateFields } from './report.ts';
import { escapeForTerminal } from '../../../console/output/display-path.ts';
import type { Output } from '../../../console/output/output.ts';
import { formatTable } from '../../../console/output/tables.ts';
import { countNoun, formatCount } from '../../../console/output/words.ts';

/** Reports `realm status`: a line or JSON object per member. */
export function reportRealm(output: Output, status: RealmStatus): void {
  const { realmId, coordinator, cache, domains, hasAgentPlanes, damaged } = status;
  for (const domain of domains) output.message('domain', fieldsOf(domain));
  const rows = domains.map((domain) => [
    domain.isSelf ? `${domain.name} (this)` : domain.name,
    domain.domainId.slice(0, 10),
    domain.reachedBy ?? 'not reached',
    domain.published === undefined ? '' : formatCount(domain.published.generation),
    domain.published === undefined ? '' : formatCount(domain.published.sequence),
    domain.published === undefined ? '' : formatCount(domain.published.liveCount),
    planeWord(domain),
    behindWord(domain, hasAgentPlanes),
    placeOf(domain),
  ]);
  output.line(`realm ${realmId.slice(0, 10)}, coordinator ${escapeForTerminal(coordinator)}`);
  if (cache !== undefined) output.line(describeCache(cache));
  const head = ['Domain', 'ID', 'Reached by', 'Gen', 'Seq', 'Chunks', 'Plane', 'Agent has', 'Place'];
  output.line(formatTable(rows, { head, rightAligned: [3, 4, 5], shortened: [{ column: 8, keeps: 'end' }] }));
  if (!hasAgentPlanes && domains.length > 1)
    output.line('no agent of this repository answers: each command reads the planes of the others itself');
  for (const { name, problem, planeProblem } of domains) {
    if (problem !== undefined) output.line(`${name}: ${escapeForTerminal(problem)}`);
    if (planeProblem !== undefined)
      output.line(`${name}: its plane cannot be used: ${escapeForTerminal(planeProblem)}`);
  }
  for (const reason of damaged.values()) output.line(escapeForTerminal(reason));
  output.message('summary', {
    realm_id: realmId,
    coordinator,
    cache: cache && { place: cache.place, answers: cache.problem === undefined, problem: cache.problem },
    domains: domains.length,
    agent_planes: hasAgentPlanes,
    damaged: [...damaged].map(([domain_id, reason]) => ({ domain_id, reason })),
  });
}

function describeCache({ place, problem }: NonNullable<RealmStatus['cache']>): string {
  const state = problem === undefined ? 'answers' : `not used: ${escapeForTerminal(problem)}`;
  return `cache ${escapeForTerminal(place)}, ${state}`;
}

/** A directory is one of its machine; other places are the same from everywhere. */
function placeOf({ host, place }: DomainStatus): string {
  return escapeForTerminal(place.startsWith('/') ? `${host}:${place}` : place);
}

/** What the domain has published, and whether the next plane is on its way. */
export function planeWord({
  isSelf,
  isCurrent,
  isUnderWay,
  published,
  unpublished,
}: Pick<DomainStatus, 'isSelf' | 'isCurrent' | 'isUnderWay' | 'published' | 'unpublished'>): string {
  if (published === undefined) return isUnderWay ? 'being published' : 'none';
  const word = isCurrent ? 'current' : isSelf ? `${countNoun(unpublished ?? 0, 'change')} not published` : 'stale';
  return isUnderWay ? `${word}, next being published` : word;
}

/** Which plane of another domain the agent of this domain has. Empty: none worth a mention. */
export function behindWord(
  { isSelf, held, behind, published }: Pick<DomainStatus, 'isSelf' | 'held' | 'behind' | 'published'>,
  hasAgentPlanes: boolean,
): string {
  if (isSelf || !hasAgentPlanes) return '';
  if (held === undefined) return 'none';
  if (behind === undefined) return published === undefined ? 'unknown' : 'another';
  return behind === 0 ? 'current' : `${formatCount(behind)} behind`;
}

function fieldsOf(domain: DomainStatus): Record<string, unknown> {
  const { domainId, name, host, place, isSelf, reachedBy, problem, published, held, behind } = domain;
  const { isCurrent, planeProblem, isUnderWay, unpublished } = domain;
  return {
    domain_id: domainId,
    name,
    host,
    place,
    self: isSelf,
    reached_by: reachedBy,
    problem,
    ...(published === undefined ? {} : stateFields(published)),
    current: isCurrent,
    plane_problem: planeProblem,
    under_way: isUnderWay,
    unpublished,
    held_sequence: held?.sequence,
    behind,
  };
}
