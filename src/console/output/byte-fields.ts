import type { ByteString } from '../../core/util/byte-string.ts';
import { bytesOf, isUtf8, textOf } from '../../core/util/byte-string.ts';

/**
 * JSON fields for bytes that are usually text, such as paths. Nothing else in the command line makes JSON of them, so
 * that a script never gets only the text of a name that is not UTF-8: what it replaces could be any bytes.
 */
type ByteFields<Name extends string, Value> = { readonly [Key in Name]: Value } & {
  readonly [Key in `${Name}_b64`]?: Value;
};

/** Returns a field, and also one with `_b64` in its name if the text cannot represent every byte. */
export function byteFields<Name extends string>(name: Name, value: ByteString): ByteFields<Name, string> {
  const fields = { [name]: textOf(value), ...(isUtf8(value) ? {} : { [`${name}_b64`]: base64Of(value) }) };
  return fields as ByteFields<Name, string>;
}

/** The same for a list; the second field then has all values. */
export function byteListFields<Name extends string>(
  name: Name,
  values: readonly ByteString[],
): ByteFields<Name, string[]> {
  const encoded = values.every(isUtf8) ? {} : { [`${name}_b64`]: values.map(base64Of) };
  return { [name]: values.map(textOf), ...encoded } as ByteFields<Name, string[]>;
}

export function pathFields(path: ByteString): ByteFields<'path', string> {
  return byteFields('path', path);
}

/** The path under the name that restic uses, and under that of the other messages. */
export function itemFields(path: ByteString): Readonly<Record<string, unknown>> {
  return { ...byteFields('item', path), ...pathFields(path) };
}

function base64Of(value: ByteString): string {
  return bytesOf(value).toString('base64');
}
