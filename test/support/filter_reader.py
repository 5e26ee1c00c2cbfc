"""Answers from files that ldm has written, by an independent reading of their formats.

usage: filter_reader.py FILE, with an id of hex digits a line on standard input. Prints 1 or 0 for each.
"""
import hashlib
import sys

MASK = 2**64 - 1


def rotate(x, bits):
    return ((x << bits) | (x >> (64 - bits))) & MASK


def mix(k):
    k = ((k ^ (k >> 33)) * 0xFF51AFD7ED558CCD) & MASK
    k = ((k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53) & MASK
    return k ^ (k >> 33)


def murmur3_x64_128(data, seed=0):
    """MurmurHash3 (Austin Appleby, public domain): two numbers of 64 bits."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = seed
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1 = int.from_bytes(data[at : at + 8], "little")
        k2 = int.from_bytes(data[at + 8 : at + 16], "little")
        h1 ^= rotate(k1 * c1 & MASK, 31) * c2 & MASK
        h1 = ((rotate(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= rotate(k2 * c2 & MASK, 33) * c1 & MASK
        h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    rest = data[whole:]
    k1 = int.from_bytes(rest[:8], "little")
    k2 = int.from_bytes(rest[8:], "little")
    h2 ^= rotate(k2 * c2 & MASK, 33) * c1 & MASK
    h1 ^= rotate(k1 * c1 & MASK, 31) * c2 & MASK
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    h1, h2 = mix(h1), mix(h2)
    h1 = (h1 + h2) & MASK
    return h1, (h2 + h1) & MASK


def signed(word):
    return word - 2**32 if word >= 2**31 else word


def guava_positions(strategy, hashes, bits, key):
    h1, h2 = murmur3_x64_128(key)
    if strategy == 1:
        return [((h1 + i * h2) & (2**63 - 1)) % bits for i in range(hashes)]
    low, high = h1 & 0xFFFFFFFF, h1 >> 32
    sums = (signed((low + i * high) & 0xFFFFFFFF) for i in range(1, hashes + 1))
    return [(~total if total < 0 else total) % bits for total in sums]


def open_guava(data):
    strategy, hashes, longs = data[0], data[1], int.from_bytes(data[2:6], "big")
    assert len(data) == 6 + longs * 8

    def has(key):
        positions = guava_positions(strategy, hashes, longs * 64, key)
        words = ((int.from_bytes(data[6 + p // 64 * 8 :][:8], "big"), p % 64) for p in positions)
        return all(word >> bit & 1 for word, bit in words)

    return has


def open_raw(data):
    count = int.from_bytes(data[8:16], "little")
    assert len(data) == 16 + count * 20 + 32
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    ids = {data[at : at + 20] for at in range(16, 16 + count * 20, 20)}
    return lambda key: key in ids


with open(sys.argv[1], "rb") as file:
    contents = file.read()
has_key = (open_raw if contents.startswith(b"LDMIDS1\n") else open_guava)(contents)
for line in sys.stdin:
    print(int(has_key(bytes.fromhex(line.strip()))))
