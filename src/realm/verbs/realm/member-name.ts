import { hostname } from 'node:os';
import { basename } from 'node:path';
import { UsageError } from '../../../core/errors.ts';
import { isDomainName } from '../../formats/domain-records.ts';

const HOST_CHARACTERS_MAX = 30;
const PLACE_CHARACTERS_MAX = 20;
const SHORT_ID_DIGITS = 4;
const LONG_ID_DIGITS = 10;

/** @throws UsageError */
export function assertDomainName(name: string): void {
  if (isDomainName(name)) return;
  throw new UsageError(`${JSON.stringify(name)} cannot be the name of a domain`, {
    hint: 'Choose up to 64 letters, digits, dots, hyphens and underscores, and begin with a letter or a digit.',
  });
}

/**
 * Names for a repository whose user has given none, the best one first: the machine, then the machine and the last part
 * of the place, then with digits of the repository id, so that two processes that choose at a time do not choose the same.
 * @param location - of the repository: a path or the text of another place
 * @param domainId - its id: 64 hex digits
 */
export function namesFor(location: string, domainId: string, host: string = hostname()): string[] {
  const machine = partOf(host, HOST_CHARACTERS_MAX) || 'domain';
  const place = partOf(basename(location), PLACE_CHARACTERS_MAX) || 'repository';
  const both = `${machine}-${place}`;
  const withDigits = [SHORT_ID_DIGITS, LONG_ID_DIGITS].map((digits) => `${both}-${domainId.slice(0, digits)}`);
  return [machine, both, ...withDigits];
}

/** What of a text can be in the name of a domain. Empty: nothing. */
function partOf(text: string, charactersMax: number): string {
  return text
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .slice(0, charactersMax)
    .replace(/[._-]+$/, '');
}
