import { CorruptDataError } from '../../../src/core/errors.ts';
import type { FilterState } from '../../../src/core/ldm/filter-state.ts';
import { writeImage } from '../../../src/core/ldm/image-writer.ts';
import type { ImageSource } from '../../../src/core/ldm/image-reader.ts';

/** The image of a state as one buffer. The pieces are copied at once, as `append` must. */
export async function imageOf(state: FilterState): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await writeImage(state, (bytes) => {
    pieces.push(Buffer.from(bytes));
    return Promise.resolve();
  });
  return Buffer.concat(pieces);
}

export function sourceOf(image: Uint8Array): ImageSource {
  return {
    sizeBytes: image.length,
    readRange(offset, target) {
      if (offset + target.length > image.length) return Promise.reject(new CorruptDataError('the file ends too early'));
      target.set(image.subarray(offset, offset + target.length));
      return Promise.resolve();
    },
  };
}
