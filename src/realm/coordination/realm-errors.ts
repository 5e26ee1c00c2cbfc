import { CorruptDataError, LdmError, RefusedError } from '../../core/errors.ts';
import type { ErrorDetails } from '../../core/errors.ts';

/** What the members of a realm share cannot be read or changed. Says nothing about any repository. */
export class CoordinatorError extends LdmError {
  override readonly code: string = 'COORDINATOR';
}

/**
 * Why a domain cannot be asked:
 *
 * - `unreachable`: there was no answer in time.
 * - `busy`: the agent does as much as it may already. It may answer later.
 * - `refused`: the agent does not accept the token, or it is not the agent that its domain has announced, or it keeps as
 *   much for this domain as it may.
 * - `invalid`: what it answers cannot be understood, or the agent has failed.
 */
export type PeerErrorKind = 'unreachable' | 'busy' | 'refused' | 'invalid';

/**
 * Whether a failure to ask a domain means that it is damaged, or its agent has failed: it may have lost what it has stored. Not
 * if it could not be reached.
 */
export function isDomainFailure(error: unknown): boolean {
  return error instanceof CorruptDataError || (error instanceof PeerError && error.kind === 'invalid');
}

/** Another domain cannot be asked. Says nothing about what it has stored. */
export class PeerError extends LdmError {
  override readonly code: string = 'PEER';
  readonly kind: PeerErrorKind;

  constructor(message: string, details: ErrorDetails & { readonly kind: PeerErrorKind }) {
    super(message, details);
    this.kind = details.kind;
  }
}

/** A domain keeps as much for another one as it may. */
export class TooManyHoldsError extends RefusedError {}
