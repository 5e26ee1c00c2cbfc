export const bugs = [
  {
    id: 'P1',
    file: 'places/sftp/sftp-rename.ts',
    find: 'if (!(await haveSameBytes(connection, source, target))) throw error;',
    replace: '',
    tests: ['places/sftp/sftp-files'],
    note: 'after a repeated request a file of another process counts as the own one',
  },
  {
    id: 'P2',
    file: 'places/sftp/sftp-rename.ts',
    find: 'if (mayReplace && (await statusOf',
    replace: 'if (false && (await statusOf',
    tests: ['places/sftp/sftp-files'],
    note: 'on a server without hard links, a rename replaces its target',
  },
  {
    id: 'P3',
    file: 'places/sftp/sftp-writer.ts',
    find: 'if (sizeBytes !== this.#appendedBytes) {',
    replace: 'if (false) {',
    tests: ['places/sftp/sftp-files'],
    note: 'a file that is shorter than what was written counts as durable',
  },
  {
    id: 'P4',
    file: 'places/sftp/sftp-writer.ts',
    find: `    for (const { offset, bytes } of this.#pieces) await writeAt(connection, handle, bytes, offset);
`,
    replace: '',
    tests: ['places/sftp/sftp-files'],
    note: 'what was written before the connection was lost is missing in the file',
  },
  {
    id: 'P5',
    file: 'places/sftp/sftp-writer.ts',
    find: `    // Nothing may be written once the file has its name, or is to be removed.
    await Promise.all(this.#unanswered);
`,
    replace: '',
    tests: ['places/sftp/sftp-files'],
    note: 'a file gets its name while writes are still on their way',
  },
  {
    id: 'P6',
    file: 'places/sftp/sftp-publishing.ts',
    find: 'return bytes !== undefined && writer.hasWritten(bytes);',
    replace: 'return true;',
    tests: ['places/sftp/publishing'],
    note: 'a file whose connection was lost counts as named',
  },
  {
    id: 'P7',
    file: 'places/sftp/sftp-publishing.ts',
    find: '...sizes.map(',
    replace: '...sizes.slice(0, 0).map(',
    tests: ['places/sftp/publishing'],
    note: 'the server does not look whether the lock and the packs are still there before it names a snapshot',
  },
];
