import { describe, expect, it } from 'vitest';

import { findingFields, formatFindings, whatHelps } from '../../../src/console/reports/finding-lines.ts';
import type { Finding, Impact } from '../../../src/verbs/check/check.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';

const id = 'ab'.repeat(32);
const chunkId = 'cd'.repeat(20);
const nothing: Impact = { snapshots: [], paths: [], pathCount: 0 };

function missingChunks(chunkCount: number, impact = nothing): Finding {
  return { severity: 'error', kind: 'chunk-missing', chunkCount, exampleId: chunkId, impact };
}

describe('formatFindings', () => {
  it('groups by kind, errors before warnings', () => {
    const lines = formatFindings(
      [
        { severity: 'warning', kind: 'pack-missing', packId: id, problems: [{ kind: 'missing' }], impact: nothing },
        missingChunks(1),
        { severity: 'error', kind: 'segment-damaged', segmentId: id, reason: 'bad' },
        missingChunks(2),
      ],
      1,
    );
    expect(lines).toEqual([
      'error: chunk-missing (2)',
      `  1 chunk that snapshots need is missing or unreadable: ${chunkId}`,
      `  2 chunks that snapshots need are missing or unreadable, such as ${chunkId}`,
      'error: segment-damaged (1)',
      `  index/${id}: bad`,
      'warning: pack-missing (1)',
      `  packs/ab/${id}: it is missing`,
    ]);
  });

  it('names files, and ids of chunks only with -v', () => {
    const packId = 'ef'.repeat(32);
    const differences = [{ kind: 'references', chunkId, inFilter: 1, recounted: 2 } as const];
    const findings: Finding[] = [
      missingChunks(1),
      missingChunks(2),
      { severity: 'error', kind: 'reference-count', name: 'filter/1', differenceCount: 1, differences },
      {
        severity: 'error',
        kind: 'segment-damaged',
        segmentId: id,
        reason: `chunk ${chunkId} in pack ${packId} at offset 32 does not match its id`,
      },
    ];
    expect(formatFindings(findings, 0)).toEqual([
      'error: chunk-missing (2)',
      '  1 chunk that snapshots need is missing or unreadable',
      '  2 chunks that snapshots need are missing or unreadable',
      'error: reference-count (1)',
      '  filter/1: 1 chunk differs from the recount: one has 1 reference in the filter, 2 by recount',
      'error: segment-damaged (1)',
      `  index/${id}: a chunk does not match its id`,
    ]);
    const verbose = formatFindings(findings, 1).join('\n');
    expect(verbose.split(chunkId)).toHaveLength(5);
    expect(verbose).toContain(packId);
  });

  it('counts one as one', () => {
    const problems = [{ kind: 'wrong', blockOffset: 32, chunkCount: 1 }] as unknown as Extract<
      Finding,
      { kind: 'pack-damaged' }
    >['problems'];
    const text = formatFindings(
      [{ severity: 'error', kind: 'pack-damaged', packId: id, problems, impact: nothing }],
      0,
    );
    expect(text[1]).toBe(`  packs/ab/${id}: 1 chunk in the block at offset 32 has wrong content`);
  });

  it('names the snapshots and files that are affected, and how many more there are', () => {
    const paths = Array.from({ length: 25 }, (_, index) => ({
      snapshot: id,
      path: byteStringFromText(`f${index}\u001b`),
    }));
    const text = formatFindings([missingChunks(1, { snapshots: [id], paths, pathCount: 100 })], 0).join('\n');
    expect(text).toContain('affects snapshot abababab\n');
    expect(text).toContain('abababab:f19\\x1b\n');
    expect(text).not.toContain('f20');
    expect(text).toContain('... and 80 more');
  });
});

describe('findingFields', () => {
  it('keeps every path for a script', () => {
    const impact = { snapshots: [id], paths: [{ snapshot: id, path: byteStringFromText('a') }], pathCount: 1 };
    expect(findingFields(missingChunks(1, impact))).toMatchObject({
      severity: 'error',
      kind: 'chunk-missing',
      paths: [{ snapshot: id, path: 'a' }],
      path_count: 1,
    });
  });

  const CHECKPOINT = 'filter/000000000001';
  /** The file, the text and the other fields that scripts rely on. */
  const FIELDS: ReadonlyArray<[Finding, string | undefined, string, object?]> = [
    [{ severity: 'error', kind: 'config-damaged', name: 'config', reason: 'config: bad' }, 'config', 'config: bad'],
    [{ severity: 'error', kind: 'checkpoint-damaged', name: CHECKPOINT, reason: 'bad' }, CHECKPOINT, 'bad'],
    [
      { severity: 'error', kind: 'snapshot-damaged', snapshotId: id, reason: 'bad' },
      `snapshots/${id}`,
      'bad',
      { snapshots: [id] },
    ],
    [{ severity: 'error', kind: 'deleted-snapshot-damaged', snapshotId: id, reason: 'bad' }, `deleted/${id}`, 'bad'],
    [{ severity: 'error', kind: 'snapshot-copy-damaged', snapshotId: id, reason: 'bad' }, `manifests.bak/${id}`, 'bad'],
    [{ severity: 'error', kind: 'segment-damaged', segmentId: id, reason: 'bad' }, `index/${id}`, 'bad'],
    [{ severity: 'error', kind: 'condemnation-damaged', condemnationId: id, reason: 'bad' }, `condemned/${id}`, 'bad'],
    [
      { severity: 'error', kind: 'key-damaged', keyId: id, isUnread: true, reason: 'denied' },
      `keys/${id}`,
      'denied; until it can be read, its password opens nothing',
    ],
    [
      { severity: 'error', kind: 'key-damaged', keyId: id, isUnread: false, reason: 'bad' },
      `keys/${id}`,
      'bad; its password opens nothing any more, and `ldm key remove` removes the file',
    ],
    [
      { severity: 'error', kind: 'segment-missing', segmentId: id },
      `index/${id}`,
      'missing; `ldm repair` rebuilds it from the packs',
    ],
    [
      { severity: 'error', kind: 'snapshot-lost', snapshotId: id, outlook: 'repairable' },
      `snapshots/${id}`,
      'the manifest is missing although the snapshot was not deleted; `ldm repair` can restore it',
      { snapshots: [id] },
    ],
    [
      { severity: 'error', kind: 'snapshot-lost', snapshotId: id, outlook: 'copy-damaged' },
      `snapshots/${id}`,
      'the manifest is missing although the snapshot was not deleted; its copy cannot be read either',
      { snapshots: [id] },
    ],
    [
      { severity: 'error', kind: 'snapshot-lost', snapshotId: id, outlook: 'unrepairable' },
      `snapshots/${id}`,
      'lost: neither its manifest nor a copy of it can be read. What was damaged is in quarantine/; what may not be read now is where it was',
      { snapshots: [id] },
    ],
    [
      {
        severity: 'error',
        kind: 'reference-count',
        name: CHECKPOINT,
        differenceCount: 5,
        differences: [
          { chunkId, kind: 'references', inFilter: 2, recounted: 1 },
          { chunkId, kind: 'not-in-filter' },
          { chunkId, kind: 'in-no-segment' },
          { chunkId, kind: 'two-locations' },
        ],
      },
      CHECKPOINT,
      `5 chunks differ from the recount: ${chunkId} has 2 references in the filter, 1 by recount; ${chunkId} is not in the filter; ${chunkId} is in the filter but in no segment; ${chunkId} has two different locations`,
    ],
    [
      {
        severity: 'error',
        kind: 'pack-damaged',
        packId: id,
        problems: [
          { kind: 'size', foundBytes: 9, expectedBytes: 10 },
          { kind: 'footer-differs' },
          { kind: 'header-or-footer-differs' },
          { kind: 'digest-differs' },
          { kind: 'unreadable', reason: 'the disk failed' },
          { kind: 'block-unreadable', blockOffset: 48, reason: 'bad' },
          { kind: 'chunks-differ', blockOffset: 48, chunkCount: 2 },
        ],
        impact: nothing,
      },
      `packs/ab/${id}`,
      'it has 9 bytes instead of 10; its footer differs from the segment; its header or footer differs from the segment; its content has changed: its digest differs from its name; the disk failed; the block at offset 48 cannot be read: bad; 2 chunks in the block at offset 48 have wrong content',
      { snapshots: [], paths: [], path_count: 0 },
    ],
    [
      {
        severity: 'error',
        kind: 'pack-damaged',
        packId: id,
        problems: [{ kind: 'footer-unreadable' }],
        impact: undefined,
      },
      `packs/ab/${id}`,
      'its footer cannot be read, and no readable segment lists it',
    ],
    [
      { severity: 'error', kind: 'file-size', impact: nothing },
      undefined,
      'the sizes of files differ from those of their chunks; a new backup stores these files again',
      { snapshots: [], paths: [], path_count: 0 },
    ],
  ];

  it('gives every finding its file, its message and the fields for scripts', () => {
    for (const [finding, file, message, others = {}] of FIELDS) {
      const { severity, kind } = finding;
      const fields = JSON.parse(JSON.stringify(findingFields(finding))) as object;
      expect(fields).toEqual({ severity, kind, message, ...(file === undefined ? {} : { file }), ...others });
    }
  });
});

it('advises to back up again where contents are lost, and not because of a warning beside an error that says what helps', () => {
  const misplaced: Finding = { severity: 'warning', kind: 'file-misplaced', name: 'index/x' };
  const membership: Finding = { severity: 'error', kind: 'realm-missing', name: 'realm' };
  expect(whatHelps([membership, misplaced])).toBeUndefined();
  expect(whatHelps([membership, missingChunks(1)])).toContain('comes back with the next backup of the same files');
});
