import { nameBytes } from '../../../index.ts';
import type { PreviewAnswer } from '../../api/browse.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { pathParameter, snapshotParameter } from '../parameters.ts';
import { textIn } from '../text-content.ts';

const SHOWN_BYTES = 64 * 1024;

/** How pictures begin, as Latin-1. The name of a file may say anything. */
const PICTURES: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[^]{4}WEBP/, 'image/webp'],
  [/^[^]{4}ftypavi[fs]/, 'image/avif'],
  [/^BM[^]{4}\0{4}/, 'image/bmp'],
];

/** Says as what a file can be shown, from its first bytes. */
export async function answerPreview(
  repository: CurrentRepository,
  parameters: URLSearchParams,
): Promise<PreviewAnswer> {
  return await repository.read(async (reader) => {
    const snapshot = reader.open(snapshotParameter(reader, parameters));
    const entry = await snapshot.stat(pathParameter(parameters));
    const bytes = Buffer.from(await snapshot.readRange(entry, 0, SHOWN_BYTES));
    const start = bytes.toString('latin1', 0, 16);
    const picture = PICTURES.find(([begins]) => begins.test(start));
    if (picture !== undefined) return { kind: 'picture', type: picture[1] };
    if (start.startsWith('%PDF-')) return { kind: 'pdf' };
    const text = textIn(bytes, entry.sizeBytes > bytes.length);
    if (text === undefined) return { kind: 'binary' };
    const isSvg = /\.svg$/i.test(Buffer.from(nameBytes(entry.name)).toString('latin1')) && text.includes('<svg');
    if (isSvg) return { kind: 'picture', type: 'image/svg+xml' };
    return { kind: 'text', text, shownBytes: bytes.length };
  });
}
