import { createHash } from 'node:crypto';

/** What a mark says about the text below it. */
export interface Mark {
  readonly profile: string;
  /** The schedule, as it was written in the profile. */
  readonly schedule: string;
  /** Whether the text is as it was written: what somebody has changed belongs to them. */
  readonly isIntact: boolean;
}

/** Returns the JSON text of a mark for a text. */
export function markFor(profile: string, schedule: string, text: string): string {
  return JSON.stringify({ profile, schedule, digest: digestOf(text) });
}

/** Returns undefined for what is not a mark. */
export function parseMark(json: string, text: string): Mark | undefined {
  try {
    const { profile, schedule, digest } = JSON.parse(json) as Readonly<Record<string, unknown>>;
    if (typeof profile !== 'string' || typeof schedule !== 'string') return undefined;
    return { profile, schedule, isIntact: digest === digestOf(text) };
  } catch {
    return undefined;
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
