import { UsageError } from '../../core/errors.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { formatZonedTime } from '../../core/util/format-time.ts';

/** A path below the mount point with placeholders, such as `hosts/%h/%T`. */
export interface PathTemplate {
  /** The names on the path, each of texts and placeholders. */
  readonly names: readonly (readonly Piece[])[];
  /** Whether each tag gives a path of its own. */
  readonly isByTag: boolean;
  /** Whether the last name ends with the time, so that the newest one can be found by it. */
  readonly endsWithTime: boolean;
}

type Placeholder = 'i' | 'I' | 'u' | 'h' | 't' | 'T';
type Piece = { readonly text: string } | { readonly placeholder: Placeholder };

/** Those of restic. */
export const DEFAULT_TEMPLATES: readonly string[] = ['hosts/%h/%T', 'ids/%i', 'snapshots/%T', 'tags/%t/%T'];

/** The longest name that a file system of Linux has. */
export const NAME_BYTES_MAX = 255;
const PLACEHOLDERS: ReadonlySet<string> = new Set<Placeholder>(['i', 'I', 'u', 'h', 't', 'T']);

/** Parses a template as restic has it. Throws UsageError. */
export function parsePathTemplate(text: string): PathTemplate {
  const names = text.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..')) {
    throw new UsageError(`the path template ${JSON.stringify(text)} is no relative path`, {
      hint: 'Give names with slashes between them, such as hosts/%h/%T.',
    });
  }
  const parsed = names.map((name) => piecesOf(name, text));
  const used = parsed.flat().map((piece) => ('placeholder' in piece ? piece.placeholder : undefined));
  return { names: parsed, isByTag: used.includes('t'), endsWithTime: used.at(-1) === 'T' };
}

function piecesOf(name: string, template: string): Piece[] {
  const pieces: Piece[] = [];
  for (const [piece] of name.matchAll(/%[^]?|[^%]+/gu)) {
    const code = piece.slice(1);
    if (!piece.startsWith('%')) pieces.push({ text: piece });
    else if (code === '%') pieces.push({ text: '%' });
    else if (PLACEHOLDERS.has(code)) pieces.push({ placeholder: code as Placeholder });
    else {
      throw new UsageError(`the path template ${JSON.stringify(template)} has an unknown placeholder ${piece}`, {
        hint: '%i and %I are the short and the long id, %u the user, %h the host, %t a tag, %T the time, %% is %.',
      });
    }
  }
  return pieces;
}

/** Returns the names at the start of a template that are the same for all snapshots, but not the last one. */
export function fixedNames({ names }: PathTemplate): ByteString[] {
  const fixed: ByteString[] = [];
  for (const pieces of names.slice(0, -1)) {
    if (pieces.some((piece) => 'placeholder' in piece)) break;
    fixed.push(fileNameOf(pieces.map((piece) => ('text' in piece ? piece.text : '')).join('')));
  }
  return fixed;
}

/** Returns the paths of a snapshot: one, or one for each of its tags. */
export function pathsOf(
  { names, isByTag }: PathTemplate,
  { id, snapshot }: SnapshotListing,
  shortId: string,
): ByteString[][] {
  const paths = (isByTag ? snapshot.tags : ['']).map((tag) => {
    const values: Readonly<Record<Placeholder, () => string>> = {
      i: () => shortId,
      I: () => id,
      u: () => snapshot.username,
      h: () => snapshot.hostname,
      t: () => tag,
      T: () => formatZonedTime(snapshot.time),
    };
    return names.map((pieces) =>
      fileNameOf(pieces.map((piece) => ('text' in piece ? piece.text : values[piece.placeholder]())).join('')),
    );
  });
  return [...new Map(paths.map((path) => [path.join('/'), path])).values()];
}

/** Host names and tags may have characters that file names cannot have. */
function fileNameOf(text: string): ByteString {
  const name = byteStringFromText(text).replaceAll(/[/\0]/g, '_').slice(0, NAME_BYTES_MAX);
  return (/^\.{0,2}$/.test(name) ? `_${name}` : name) as ByteString;
}
