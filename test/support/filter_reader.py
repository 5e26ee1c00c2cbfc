"""Answers from files that ldm has written, by an independent reading of their formats.

usage: filter_reader.py FILE, with an id of hex digits a line on standard input. Prints 1 or 0 for each.
"""
import hashlib
import struct
import sys
import zlib

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


def open_saved(data):
    """The saved form of the family: magic, version, name, numbers, arrays, CRC-32."""
    assert zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little")
    version, name_bytes = struct.unpack_from("<HB", data, 6)
    assert version == 1
    name = data[9 : 9 + name_bytes].decode("ascii")
    at = 9 + name_bytes
    (count,) = struct.unpack_from("<I", data, at)
    numbers = struct.unpack_from(f"<{count}d", data, at + 4)
    at += 4 + 8 * count
    (count,) = struct.unpack_from("<I", data, at)
    lengths = struct.unpack_from(f"<{count}Q", data, at + 4)
    at += 4 + 8 * count
    arrays = []
    for length in lengths:
        arrays.append(data[at : at + length])
        at += length
    assert at == len(data) - 4
    return SAVED[name](numbers, arrays)


def open_fuse(code):
    def opened(numbers, arrays):
        keys, seed_low, seed_high, length, segments = (int(number) for number in numbers)
        seed = seed_high << 32 | seed_low
        if keys == 0:
            return lambda key: False
        slots = struct.unpack(f"<{segments * length}{code}", arrays[0])

        def has(key):
            hashed = mix((murmur3_x64_128(key)[0] + seed) & MASK)
            first = hashed * ((segments - 2) * length) >> 64
            second = (first + length) ^ (hashed >> 18 & (length - 1))
            third = (first + 2 * length) ^ (hashed & (length - 1))
            fingerprint = (hashed ^ hashed >> 32) & (2 ** (8 * struct.calcsize(code)) - 1)
            return slots[first] ^ slots[second] ^ slots[third] == fingerprint

        return has

    return opened


PRIMES = [
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
]
SALTS = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]


def xxh64(data):
    """XXH64 with the seed 0 (xxHash specification)."""
    p1, p2, p3, p4, p5 = PRIMES

    def turn(total, lane):
        return rotate((total + lane * p2) & MASK, 31) * p1 & MASK

    at, h = 0, p5
    if len(data) >= 32:
        sums = [(p1 + p2) & MASK, p2, 0, -p1 & MASK]
        for at in range(0, len(data) // 32 * 32, 32):
            sums = [turn(total, lane) for total, lane in zip(sums, struct.unpack_from("<4Q", data, at))]
        at += 32
        h = sum(rotate(total, bits) for total, bits in zip(sums, (1, 7, 12, 18))) & MASK
        for total in sums:
            h = ((h ^ turn(0, total)) * p1 + p4) & MASK
    h = (h + len(data)) & MASK
    while at + 8 <= len(data):
        h = (rotate(h ^ turn(0, int.from_bytes(data[at : at + 8], "little")), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        h = (rotate(h ^ int.from_bytes(data[at : at + 4], "little") * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p5 & MASK, 11) * p1 & MASK
    h = (h ^ h >> 33) * p2 & MASK
    h = (h ^ h >> 29) * p3 & MASK
    return h ^ h >> 32


def split_blocks(data):
    words = struct.unpack(f"<{len(data) // 4}I", data)

    def has(key):
        h = xxh64(key)
        block = (h >> 32) * (len(data) // 32) >> 32
        bits = [(h * salt & 0xFFFFFFFF) >> 27 for salt in SALTS]
        return all(words[block * 8 + i] >> bit & 1 for i, bit in enumerate(bits))

    return has


def open_parquet(data):
    """A BloomFilterHeader in Thrift's compact protocol, and the blocks."""
    at, zigzag = 1, 0
    while True:
        zigzag |= (data[at] & 127) << 7 * (at - 1)
        at += 1
        if data[at - 1] < 128:
            break
    assert data[at : at + 13].hex() == "1c1c00001c1c00001c1c000000"
    assert len(data) == at + 13 + zigzag // 2
    return split_blocks(data[at + 13 :])


SAVED = {
    "binary-fuse-8": open_fuse("B"),
    "binary-fuse-16": open_fuse("H"),
    "split-block-bloom": lambda numbers, arrays: split_blocks(arrays[0]),
}


def opener_of(data):
    if data.startswith(b"LDMSET"):
        return open_saved
    if data.startswith(b"\x15"):
        return open_parquet
    return open_raw if data.startswith(b"LDMIDS1\n") else open_guava


with open(sys.argv[1], "rb") as file:
    contents = file.read()
has_key = opener_of(contents)(contents)
for line in sys.stdin:
    print(int(has_key(bytes.fromhex(line.strip()))))
