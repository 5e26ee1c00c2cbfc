/** A name or path: `text` is for people; `key` has its bytes in base64url, for questions about it. */
export interface Named {
  readonly text: string;
  readonly key: string;
}
