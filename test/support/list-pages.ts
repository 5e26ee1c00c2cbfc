import { createHash } from 'node:crypto';

/** An answer to ListObjectsV2. `next`: the page after this one. */
export function listPage(contents: string, next?: number): string {
  const end = next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`;
  const body = `<IsTruncated>${next !== undefined}</IsTruncated>${end}${contents}`;
  return `<ListBucketResult>${body}</ListBucketResult>`;
}

/** A thousand packs that do not exist, with other names on each page. */
export function generatedPacks(page: number): string {
  const keyOf = (index: number): string => {
    const id = createHash('sha256').update(`${page} ${index}`).digest('hex');
    return `r/packs/${id.slice(0, 2)}/${id}`;
  };
  return Array.from(
    { length: 1000 },
    (_, index) => `<Contents><Key>${keyOf(index)}</Key><Size>16777216</Size></Contents>`,
  ).join('');
}
