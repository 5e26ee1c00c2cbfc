#!/usr/bin/env python3
"""Reads an ldm repository that is not encrypted, without ldm. docs/format.md describes every byte.

  read-plain-repository.py REPOSITORY                       lists the snapshots
  read-plain-repository.py REPOSITORY SNAPSHOT DIRECTORY    extracts one to a new directory; SNAPSHOT begins its id

Needs Python 3.8 and the program zstd. Restores directories, files, symlinks, hard links, permissions and times, and as
root owners. Copy packs of storage groups to REPOSITORY/packs. Exit code 1: what is listed was damaged or left out.
"""
import hashlib, hmac, json, os, pathlib, struct, subprocess, sys
from functools import lru_cache

DATA, TREE, FILE, DIRECTORY, SYMLINK = 1, 2, 1, 2, 3  # kinds of chunks, and types of entries
problems = []

def read_snapshots(place):
    manifests = []
    for file in (place / "snapshots").iterdir():
        if hashlib.sha256(file.read_bytes()).hexdigest() == file.name:
            manifests.append((file.name, json.loads(file.read_bytes())))
        else:
            problems.append(f"{file} is damaged")
    return sorted(manifests, key=lambda each: each[1]["time"])

class Chunks:
    def __init__(self, place, config):
        key = bytes.fromhex(config["id_key"])
        extracted = hmac.digest(bytes(32), key, "sha256")  # HKDF-SHA-256 without salt
        self.keys = {DATA: key, TREE: hmac.digest(extracted, b"ldm tree id\x01", "sha256")}
        self.hash, self.places = config["chunk_hash"], {}
        for pack in sorted((place / "packs").glob("??/*")):
            try:
                self.read_footer(pack, pack.read_bytes())
            except (OSError, ValueError, struct.error):
                problems.append(f"{pack} is damaged: its chunks are not used")

    def read_footer(self, pack, content):
        """A pack ends with the list of its blocks and their chunks."""
        blocks, _, footer_bytes, _, magic = struct.unpack("<4I8s", content[-24:])
        if magic != b"LDMPEND1":
            raise ValueError("no trailer")
        at = len(content) - 24 - footer_bytes
        for _ in range(blocks):
            offset, stored, _, count, codec = struct.unpack_from("<4IB", content, at)
            start = 0
            for number, length in enumerate(struct.unpack_from(f"<{count}I", content, at + 20 + 20 * count)):
                chunk_id = content[at + 20 + 20 * number :][:20]
                self.places[chunk_id] = (pack, offset + 24 + 4 * count, stored, codec, start, length)
                start += length
            at += 20 + 24 * count

    @lru_cache(maxsize=32)
    def block(self, pack, offset, stored, codec):
        payload = pack.read_bytes()[offset : offset + stored]
        return payload if codec == 0 else subprocess.run(["zstd", "-dcq"], input=payload, stdout=-1, check=True).stdout

    def read(self, chunk_id, kind):
        *where, start, length = self.places[chunk_id]
        content = self.block(*where)[start : start + length]
        if hmac.digest(self.keys[kind], content, self.hash)[:20] != chunk_id:
            raise ValueError("a chunk is damaged")
        return content

def entries(tree):
    owner_count, entry_count = struct.unpack_from("<II", tree, 8)
    at, owners = 16, []
    for _ in range(owner_count):
        owners.append(struct.unpack_from("<II", tree, at))
        at += 10 + tree[at + 8] + tree[at + 9]
    for _ in range(entry_count):
        size, kind, flags, mode, owner, fraction, seconds, _, _, inode, length = struct.unpack_from("<IBBHIIqqIQH", tree, at)
        name, rest = tree[at + 48 :][:length], tree[at + 48 + length : at + size]
        if b"/" in name or name in (b"", b".", b".."):
            raise ValueError("a directory is damaged")
        yield kind, mode, owners[owner], seconds * 10**9 + fraction, inode if flags & 2 else None, name, rest
        at += size

def extract(chunks, tree_id, target, links):
    os.makedirs(target, exist_ok=True)
    for kind, mode, owner, time, inode, name, rest in entries(chunks.read(tree_id, TREE)):
        path = os.path.join(target, name)
        try:
            if kind == DIRECTORY:
                extract(chunks, rest[:20], path, links)
            elif kind == SYMLINK:
                os.symlink(rest[2 : 2 + int.from_bytes(rest[:2], "little")], path)
            elif kind == FILE:
                ids = rest[12 : 12 + 20 * int.from_bytes(rest[8:12], "little")]
                if inode is not None and (inode, ids) in links:
                    os.link(links[(inode, ids)], path)
                    continue
                with open(path, "xb") as file:
                    for at in range(0, len(ids), 20):
                        file.write(chunks.read(ids[at : at + 20], DATA))
                links[(inode, ids)] = path  # Only if it is whole: each name of a damaged file is listed.
            else:
                raise OSError("a FIFO, socket or device is left out")
            if os.geteuid() == 0:
                os.chown(path, *owner, follow_symlinks=False)
            if kind != SYMLINK:
                os.chmod(path, mode)
            os.utime(path, ns=(time, time), follow_symlinks=False)
        except (KeyError, OSError, ValueError, struct.error, subprocess.CalledProcessError) as error:
            problems.append(f"{os.fsdecode(path)}: {error!r}")

if len(sys.argv) not in (2, 4):
    sys.exit(__doc__)
place = pathlib.Path(sys.argv[1])
config = json.loads((place / "config").read_bytes())
if "encryption" in config["required_features"]:
    sys.exit("the repository is encrypted: docs/format.md says how the keys follow from the password")
found = [each for each in read_snapshots(place) if each[0].startswith((sys.argv + [""])[2])]
if len(sys.argv) == 2:
    for name, manifest in found:
        print(name[:8], manifest["time"], manifest["hostname"], *manifest["paths"])
elif len(found) != 1:
    sys.exit(f"{len(found)} snapshots begin with {sys.argv[2]}")
else:
    extract(Chunks(place, config), bytes.fromhex(found[0][1]["tree"]), os.fsencode(sys.argv[3]), {})
sys.exit("\n".join(problems) or 0)
