import { createCipheriv } from 'node:crypto';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const pieceSizeBytes = 4 << 20;

/** Two files of the same size: one that no compressor shrinks, and one of words, which shrinks to less than half. */
export function makeBig(directory: string, sizeBytes: number): void {
  const half = Math.floor(sizeBytes / 2);
  const random = keyStream(1);
  writeFile(join(directory, bigFileNames.random), { sizeBytes: half, nextPiece: random });
  writeFile(join(directory, bigFileNames.words), { sizeBytes: half, nextPiece: wordStream(keyStream(2)) });
}

export const bigFileNames = { random: 'incompressible.bin', words: 'words.txt' } as const;

/** Flips the byte in the middle of a file; a second call restores the content. */
export function flipMiddleByte(path: string, sizeBytes: number): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  const offset = Math.floor(sizeBytes / 2);
  readSync(file, byte, 0, 1, offset);
  byte[0]! ^= 0xff;
  writeSync(file, byte, 0, 1, offset);
  closeSync(file);
}

/** AES in counter mode over zeros: repeatable bytes at more than 1 GB/s. */
export function keyStream(seed: number): () => Buffer {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16));
  const zeros = Buffer.alloc(pieceSizeBytes);
  return () => cipher.update(zeros);
}

/** Words of 2 to 9 letters, picked from 4096 by 12 random bits each. */
function wordStream(nextRandom: () => Buffer): () => Buffer {
  const letters = nextRandom();
  const words = Array.from({ length: 4096 }, (_, index) => {
    const bytes = letters.subarray(index * 10, index * 10 + 2 + (letters[index * 10 + 9]! % 8));
    return Buffer.from(bytes.map((byte) => 97 + (byte % 26)));
  });
  return () => {
    const random = nextRandom();
    const piece = Buffer.allocUnsafe(pieceSizeBytes);
    let offset = 0;
    for (let index = 0; offset < pieceSizeBytes; index += 2) {
      const word = words[(random[index]! << 4) | (random[index + 1]! & 15)]!;
      for (let letter = 0; letter < word.length; letter++) piece[offset++] = word[letter]!;
      piece[offset++] = index % 22 === 20 ? 10 : 32;
    }
    return piece;
  };
}

export function writeFile(path: string, options: { sizeBytes: number; nextPiece: () => Buffer }): void {
  const file = openSync(path, 'w');
  for (let rest = options.sizeBytes; rest > 0; rest -= pieceSizeBytes) {
    writeSync(file, options.nextPiece(), 0, Math.min(rest, pieceSizeBytes));
  }
  closeSync(file);
}
