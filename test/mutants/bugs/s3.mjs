const S3 = ['places/s3/s3-client', 'places/s3/s3-answers', 'places/s3/s3-place'];
const OBJECTS = ['places/objects/object-backend', 'places/objects/store-probe'];

export const bugs = [
  {
    id: 'OB1',
    file: 'places/s3/s3-client.ts',
    find: 'return await this.#credentials.forget(sent.keys);',
    replace: 'return true;',
    tests: S3,
    note: 'keys that the server says have expired are sent again and again',
  },
  {
    id: 'OB2',
    file: 'places/s3/credentials.ts',
    find: "error instanceof Error && 'code' in error ? `it ended with ${String(error.code)}` : 'it printed none';",
    replace:
      "error instanceof Error && 'code' in error ? `it ended with ${String(error.code)}` : (error as Error).message;",
    tests: S3,
    note: 'a message contains the secret key that a program printed in another form',
  },
  {
    id: 'OB3',
    file: 'places/s3/s3-answer.ts',
    find: '  if (isTruncated && continuation === undefined) {',
    replace: '  if (isTruncated && objects.length === 0) {',
    tests: S3,
    note: 'a list of objects without a token counts as whole: what is on its later pages is missing',
  },
  {
    id: 'OB4',
    file: 'places/s3/s3-answer.ts',
    find: " || !xml.includes('</ListBucketResult>')",
    replace: '',
    tests: S3,
    note: 'a list of objects that was cut off counts as whole',
  },
  {
    id: 'OB5',
    file: 'places/s3/s3-store.ts',
    find: 'return answer.body.subarray(offset, offset + lengthBytes);',
    replace: 'return answer.body;',
    tests: S3,
    note: 'the beginning of an object is read for a range of it, where a server ignores ranges',
  },
  {
    id: 'OB6',
    file: 'places/s3/s3-store.ts',
    find: "if (errorCodeOf(answer) === 'NoSuchBucket') return undefined;",
    replace: 'if (answer.status === 404) return undefined;',
    tests: S3,
    note: 'the error page of a proxy counts as an empty list of objects',
  },
  {
    id: 'OB7',
    file: 'places/s3/s3-client.ts',
    find: "typeof named !== 'string' || !/^[a-z0-9-]+$/.test(named) || named === sent.region",
    replace: "typeof named !== 'string' || named === sent.region",
    tests: S3,
    note: 'a server names another host by its region, which then gets signed requests',
  },
  {
    id: 'OB8',
    file: 'places/objects/pending-uploads.ts',
    find: '    if (this.#failure !== undefined) throw this.#failure.error;',
    replace: `    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;`,
    tests: OBJECTS,
    note: 'the second barrier after a failed upload succeeds: a snapshot may rely on a pack that is not stored',
  },
  {
    id: 'OB9',
    file: 'places/objects/object-backend.ts',
    find: ' || (await this.sizeOf(CONFIG_COPY_NAME)) !== undefined',
    replace: '',
    tests: OBJECTS,
    note: 'a repository of which only the copy of the configuration is left counts as absent',
  },
  {
    id: 'OB10',
    file: 'places/objects/object-backend.ts',
    find: '    await verify?.();\n    this.#ahead.forget();',
    replace: '    this.#ahead.forget();',
    tests: OBJECTS,
    note: 'the lock is not verified before an object gets its name',
  },
  {
    id: 'OB11',
    file: 'places/objects/store-requests.ts',
    find: "return error.kind === 'transient' && this.#hasAnswered;",
    replace: "return error.kind === 'transient';",
    tests: OBJECTS,
    note: 'a wrong address is tried for minutes',
  },
  {
    id: 'OB12',
    file: 'places/objects/probe.ts',
    find: 'if (flaw === undefined || (isSingleWriter && flaw.isSafeAlone)) return;',
    replace: 'if (flaw === undefined || isSingleWriter) return;',
    tests: OBJECTS,
    note: 'a store that reads other bytes than were written is accepted for a single writer',
  },
];
