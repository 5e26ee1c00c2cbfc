import { readFileSync } from 'node:fs';
import { UsageError } from '../errors.ts';
import { reasonOf } from '../files/path-failures.ts';
import { parseDuration } from '../util/format-time.ts';

export interface Configuration {
  readonly repository?: string;
  readonly lockWaitMs?: number;
}

const EXAMPLE = 'Correct it, or remove it. An example: {"repository": "/mnt/backup/ldm", "lockWait": "5m"}.';

type Parser = (value: unknown) => Configuration | undefined;

const PARSERS: Readonly<Record<string, { readonly parse: Parser; readonly wanted: string }>> = {
  repository: { parse: parseRepository, wanted: 'an absolute path, or one that begins with ~/' },
  lockWait: { parse: parseLockWait, wanted: 'a time span such as "5m"' },
};

/** Reads the configuration file. A missing file is an empty configuration. Throws UsageError for unknown settings. */
export function readConfiguration(path: string): Configuration {
  const text = readIfPresent(path);
  if (text === undefined) return {};
  let configuration: Configuration = {};
  for (const [key, value] of Object.entries(parseObject(path, text))) {
    const setting = Object.hasOwn(PARSERS, key) ? PARSERS[key] : undefined;
    if (setting === undefined)
      throw invalid(
        path,
        `unknown setting ${JSON.stringify(key)}`,
        `The settings are ${Object.keys(PARSERS).join(' and ')}.`,
      );
    const parsed = setting.parse(value);
    if (parsed === undefined)
      throw invalid(path, `${key} is ${JSON.stringify(value)}`, `The value of ${key} must be ${setting.wanted}.`);
    configuration = { ...configuration, ...parsed };
  }
  return configuration;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`cannot read the configuration file ${path}: ${reasonOf(error)}`, {
      hint: 'Make it readable for this user, or remove it.',
      cause: error,
    });
  }
}

function parseObject(path: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(path, `not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(path, 'not a JSON object');
  return value as Readonly<Record<string, unknown>>;
}

function parseRepository(value: unknown): Configuration | undefined {
  if (typeof value !== 'string') return undefined;
  return /^~?\//.test(value) || value.includes('://') ? { repository: value } : undefined;
}

function parseLockWait(value: unknown): Configuration | undefined {
  const lockWaitMs = typeof value === 'string' ? parseDuration(value) : undefined;
  return lockWaitMs === undefined ? undefined : { lockWaitMs };
}

function invalid(path: string, problem: string, hint = EXAMPLE): UsageError {
  return new UsageError(`configuration file ${path}: ${problem}`, { hint });
}
