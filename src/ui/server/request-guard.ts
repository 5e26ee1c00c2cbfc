import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Why a request is refused, with a status of HTTP. */
export interface Refusal {
  readonly status: 401 | 403 | 405;
  readonly reason: string;
}

/** What every answer says. The page needs its own script and style, and shows previews as `blob:`. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    "connect-src 'self'",
    "frame-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/**
 * Refuses requests that do not come from the page. A page of another site can make a browser send requests here, also
 * under a name of its own that it lets resolve to this machine (DNS rebinding): so the host must be the one that was
 * printed.
 */
export function refuseForeign(request: IncomingMessage, port: number): Refusal | undefined {
  const { host, origin, 'sec-fetch-site': site } = request.headers;
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (host === undefined || !hosts.includes(host)) return { status: 403, reason: 'this host is not served here' };
  if (origin !== undefined && origin !== `http://${host}`) return { status: 403, reason: 'another site asks' };
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isVisit(request)) {
    return { status: 403, reason: 'another site asks' };
  }
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  return { status: 405, reason: 'nothing can be changed here' };
}

/** Whether a person follows a link to the page, such as the one in the file that opens the browser. */
function isVisit({ url, headers }: IncomingMessage): boolean {
  return url === '/' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

/** Refuses a question without the token (RFC 6750). */
export function refuseUnauthorized({ headers }: IncomingMessage, token: string): Refusal | undefined {
  const [, given = ''] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
  // Of equal length, as the comparison demands.
  const digests = [given, token].map((text) => createHash('sha256').update(text).digest());
  if (timingSafeEqual(digests[0]!, digests[1]!)) return undefined;
  return { status: 401, reason: 'the token is missing or wrong: open the address that the command printed' };
}
