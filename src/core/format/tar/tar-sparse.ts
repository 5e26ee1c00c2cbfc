import { ArchiveError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { ArchiveInput } from './archive-input.ts';
import { parsePaxNumber } from './pax-records.ts';
import type { PaxRecord } from './pax-records.ts';
import { numberField, readNumber } from './tar-fields.ts';
import { TAR_BLOCK_BYTES, TAR_FIELDS } from './tar-member.ts';
import type { DataRun } from './tar-member.ts';

/** The content of a sparse file in an archive. */
interface SparseContent {
  /** The name, which two of the formats keep outside of the header. */
  readonly path: ByteString | undefined;
  readonly sizeBytes: number;
  readonly runs: readonly DataRun[];
}

/** Offset and length of a run in a header: 12 bytes each. */
const RUN_BYTES = 24;
const NUMBER_BYTES = 12;
const HEADER_RUNS = TAR_FIELDS.gnuSparse[1] / RUN_BYTES;
const EXTENSION_RUNS = 21;
const RUNS_MAX = 2 ** 22;
const LINE_FEED = 0x0a;

interface SparseHeader {
  readonly block: Buffer;
  readonly letter: string;
  readonly records: readonly PaxRecord[];
  /** Whether the member can be sparse. */
  readonly isSparse: boolean;
  readonly storedBytes: number;
}

interface SparseRead {
  readonly sparse?: SparseContent | undefined;
  /** Bytes of the content in the archive. */
  readonly storedBytes: number;
  /** Bytes of the content that were not read. */
  readonly leftBytes: number;
  /** Why the map cannot be used although the archive can be read on. */
  readonly problem?: string;
}

/** Reads the map of a sparse file in any format. Throws ArchiveError if it is unknown where the next header is. */
export async function readSparse(header: SparseHeader, input: ArchiveInput): Promise<SparseRead> {
  const { block, letter, records, isSparse } = header;
  let { storedBytes } = header;
  if (!isSparse) return { storedBytes, leftBytes: storedBytes };
  const old = letter === 'S' ? await readOldSparse(block, input) : undefined;
  const start = input.offset;
  let sparse: SparseContent | undefined;
  let problem: string | undefined;
  try {
    if (old instanceof ArchiveError) throw old;
    sparse = old ?? (await readPaxSparse(records, input, start + storedBytes));
    if (sparse !== undefined) {
      storedBytes = storedSizeWith(sparse, header, input.offset - start);
      assertRunsFit(sparse, storedBytes - (input.offset - start));
    }
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    problem = error.message;
  }
  const leftBytes = storedBytes - (input.offset - start);
  if (leftBytes < 0) throw new ArchiveError('the map of a sparse file is longer than its content');
  return problem === undefined ? { sparse, storedBytes, leftBytes } : { storedBytes, leftBytes, problem };
}

/**
 * Returns the bytes of the content in the archive. If a file has more than 8 GiB with its holes, bsdtar before version
 * 3.2 wrote that size in place of this one, which is only in the header then.
 */
function storedSizeWith({ sizeBytes, runs }: SparseContent, header: SparseHeader, mapBytes: number): number {
  const { block, storedBytes } = header;
  if (storedBytes !== sizeBytes) return storedBytes;
  const neededBytes = runs.reduce((sum, { lengthBytes }) => sum + lengthBytes, mapBytes);
  return numberField(block, 'size') === neededBytes ? neededBytes : storedBytes;
}

/**
 * Reads the map of GNU's oldest format: in the header, and in blocks after it. Returns an error if it cannot be used,
 * and throws ArchiveError if it is unknown where the content begins.
 */
async function readOldSparse(block: Buffer, input: ArchiveInput): Promise<SparseContent | ArchiveError> {
  const runs: DataRun[] = [];
  const errors: ArchiveError[] = [];
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      errors.push(error);
      return undefined;
    }
  };
  const add = (from: Buffer, start: number, count: number): void => {
    runs.push(...(attempt(() => runsIn(from, start, count)) ?? []));
  };
  const sizeBytes = attempt(() => numberField(block, 'gnuRealSize')) ?? 0;
  add(block, TAR_FIELDS.gnuSparse[0], HEADER_RUNS);
  let isExtended = block[TAR_FIELDS.gnuIsExtended[0]] !== 0;
  while (isExtended) {
    const extension = await input.take(TAR_BLOCK_BYTES);
    if (extension === undefined) throw input.truncated();
    add(extension, 0, EXTENSION_RUNS);
    assertFewRuns(runs.length);
    isExtended = extension[EXTENSION_RUNS * RUN_BYTES] !== 0;
  }
  return errors[0] ?? { path: undefined, sizeBytes, runs };
}

function runsIn(block: Buffer, start: number, count: number): DataRun[] {
  const runs: DataRun[] = [];
  for (let i = 0; i < count; i++) {
    const offset = start + i * RUN_BYTES;
    if (block[offset] === 0) break;
    const lengthBytes = readNumber(block, offset + NUMBER_BYTES, NUMBER_BYTES);
    runs.push({ offset: readNumber(block, offset, NUMBER_BYTES), lengthBytes });
  }
  return runs;
}

/** Reads a map in GNU's formats 0.0, 0.1 and 1.0. Returns undefined without one. Throws ArchiveError. */
async function readPaxSparse(
  records: readonly PaxRecord[],
  input: ArchiveInput,
  end: number,
): Promise<SparseContent | undefined> {
  if (!records.some(([key]) => key.startsWith('GNU.sparse.'))) return undefined;
  const last = new Map(records);
  const path = last.get('GNU.sparse.name');
  const sizeBytes = numberOf(last.get('GNU.sparse.realsize') ?? last.get('GNU.sparse.size'));
  if (last.has('GNU.sparse.major')) {
    const version = `${last.get('GNU.sparse.major')}.${last.get('GNU.sparse.minor')}`;
    if (version !== '1.0') throw new ArchiveError(`the format ${version} of sparse files is unknown`);
    return { path, sizeBytes, runs: await readMap(input, end) };
  }
  const list = last.get('GNU.sparse.map');
  const numbers = list === undefined ? runRecords(records) : list.split(',').filter((word) => word !== '');
  return { path, sizeBytes, runs: pairsOf(numbers.map((word) => numberOf(word as ByteString))) };
}

function numberOf(text: ByteString | undefined): number {
  if (text === undefined) throw new ArchiveError('the map of a sparse file is incomplete');
  return parsePaxNumber(text);
}

/** Format 0.0 has a record for each offset and each length. */
function runRecords(records: readonly PaxRecord[]): ByteString[] {
  return records
    .filter(([key]) => key === 'GNU.sparse.offset' || key === 'GNU.sparse.numbytes')
    .map(([, value]) => value);
}

/** Reads the map at the beginning of the content: decimal numbers, a line each, padded to whole blocks. */
async function readMap(input: ArchiveInput, contentEnd: number): Promise<DataRun[]> {
  let rest = '';
  const numbers: number[] = [];
  let wanted = 1;
  while (numbers.length < wanted) {
    if (input.offset >= contentEnd || rest.length >= TAR_BLOCK_BYTES) throw damagedMap();
    const block = await input.take(TAR_BLOCK_BYTES);
    if (block === undefined) throw input.truncated();
    const end = block.lastIndexOf(LINE_FEED) + 1;
    const lines = (rest + block.toString('latin1', 0, end)).split('\n').slice(0, -1);
    rest = block.toString('latin1', end);
    for (const line of lines) {
      // libarchive knows comments.
      if (numbers.length === wanted || line.startsWith('#')) continue;
      numbers.push(numberOf(line as ByteString));
      if (numbers.length > 1) continue;
      assertFewRuns(numbers[0]!);
      wanted += 2 * numbers[0]!;
    }
  }
  return pairsOf(numbers.slice(1));
}

function pairsOf(numbers: readonly number[]): DataRun[] {
  if (numbers.length % 2 !== 0) throw new ArchiveError('the map of a sparse file is incomplete');
  assertFewRuns(numbers.length / 2);
  return Array.from({ length: numbers.length / 2 }, (_, i) => ({
    offset: numbers[2 * i]!,
    lengthBytes: numbers[2 * i + 1]!,
  }));
}

function assertFewRuns(count: number): void {
  if (count > RUNS_MAX) throw new ArchiveError('the map of a sparse file is too large');
}

/** Throws ArchiveError unless the runs are in order, inside the file, and as long as the content. */
function assertRunsFit({ runs, sizeBytes }: Pick<SparseContent, 'runs' | 'sizeBytes'>, storedBytes: number): void {
  let end = 0;
  let sumBytes = 0;
  for (const { offset, lengthBytes } of runs) {
    if (offset < end || lengthBytes < 0) throw damagedMap();
    end = offset + lengthBytes;
    sumBytes += lengthBytes;
  }
  if (end > sizeBytes || sumBytes !== storedBytes) throw damagedMap();
}

function damagedMap(): ArchiveError {
  return new ArchiveError('the map of a sparse file is damaged');
}
