import { RequestError, STATUS } from './request-error.ts';

/** How many requests a client may chain. */
const CHAINED_MAX = 4096;

/**
 * Requests of which each is done only if all before it in the chain have succeeded. Whatever is wrong with a chain, none of
 * its requests is done: the client has sent them only for the case that it is right.
 */
export class RequestChain {
  #leftCount = 0;
  #hasFailed = false;

  /** Begins a chain of the next `count` requests; all the others, if the client has not said how many. */
  begin(count: number | undefined): void {
    const isInside = this.#leftCount > 0;
    const isPossible = count !== undefined && count <= CHAINED_MAX;
    this.#leftCount = Math.max(this.#leftCount, count ?? Infinity);
    this.#hasFailed = isInside || !isPossible;
    if (!isPossible) throw new RequestError(STATUS.BAD_MESSAGE, `a chain may have up to ${CHAINED_MAX} requests`);
    if (isInside) throw new RequestError(STATUS.BAD_MESSAGE, 'a chain within a chain');
  }

  /**
   * Does a request.
   * @throws RequestError if one before it in its chain has failed, or what `action` throws
   */
  run<T>(action: () => T): T {
    const isChained = this.#leftCount > 0;
    if (isChained) this.#leftCount -= 1;
    if (isChained && this.#hasFailed)
      throw new RequestError(STATUS.FAILURE, 'not done: a request before it in the chain has failed');
    try {
      return action();
    } catch (error) {
      if (isChained) this.#hasFailed = true;
      throw error;
    }
  }
}
