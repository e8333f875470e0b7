#!/usr/bin/env python3
"""A second reader of evdb files, written from format-spec.md alone, with Python's standard library alone.

Reads the JSON lines of `evdb dump --raw FILE` (a file name, or standard input), checks everything the specification
asks for, and writes the canonical dump (appendix D) to standard output.

    evdb dump --raw FILE | python3 evdb_reader.py [--term TERM]

With --term it writes the live nodes whose own text has that term, as `node position...` lines, instead of the dump.
Not read: the container itself (section 5), and how text becomes terms (7.9).
"""

import bisect
import hashlib
import itertools
import json
import math
import struct
import sys
import zlib

# Section 6.1: table, tag, whether derived.
TABLES = [
    ("meta", b"META", False),
    ("catalogue", b"TABL", False),
    ("documents", b"DOCU", False),
    ("document_keys", b"DKEY", True),
    ("roots", b"ROOT", True),
    ("trees", b"TREE", False),
    ("texts", b"TEXT", False),
    ("manifest", b"MANI", True),
    ("text_segments", b"TXTS", True),
    ("text_parts", b"TXTP", True),
    ("deleted", b"DELE", True),
    ("spaces", b"VSPC", False),
    ("vectors", b"VBLK", False),
    ("contexts", b"VCTX", True),
    ("graph_names", b"GNAM", False),
    ("entities", b"ENTY", False),
    ("entity_keys", b"EKEY", True),
    ("hyperedges", b"HEDG", False),
    ("hyperedge_keys", b"HKEY", True),
    ("graph_documents", b"GDOC", False),
    ("graph_parts", b"GPRT", True),
]

# Versions of records other than 1.
VERSIONS = {b"TXTS": 2, b"TXTP": 2}

KINDS = {1: "document", 2: "section", 3: "text", 4: "table", 5: "image", 6: "example"}
INNER = (1, 2)

COLUMNS = [
    ("parent", "I"), ("last", "I"), ("level", "B"), ("kind", "B"), ("tokens", "I"), ("start", "I"), ("end", "I"),
    ("page", "I"), ("title_end", "I"), ("titles", "B"), ("summary_end", "I"), ("summaries", "B"),
    ("attribute_node", "I"), ("attribute_end", "I"), ("attributes", "B"),
]

TEXT_BLOCK = 16_384
TREE_CHUNK = 1_048_512
PART_CHUNK = 262_080
COMMON_INPUTS = b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"


class Damage(Exception):
    """The file breaks the format; the message begins with the requirement."""


def need(condition, requirement, why):
    if not condition:
        raise Damage(f"{requirement}: {why}")


def u32_key(*numbers):
    return b"".join(struct.pack(">I", number) for number in numbers)


# Section 3.6.


def open_frame(table, tag, key, value):
    where = f"{table}[{key.hex()}]"
    need(len(value) >= 16, "R-3.6.1", f"{where} is shorter than a frame")
    length, crc = struct.unpack_from("<II", value, 8)
    payload = value[16:16 + length]
    need(len(payload) == length, "R-3.6.1", f"{where} claims {length} bytes")
    found = zlib.crc32(table.encode() + b"\0" + key + value[:12] + payload)
    need(found == crc, "R-3.6.3", f"{where}: checksum {found:08x}, not {crc:08x}")
    need(value[:4] == tag, "R-3.6.3", f"{where} has tag {value[:4]}")
    version = struct.unpack_from("<H", value, 4)[0]
    need(version == VERSIONS.get(tag, 1), "R-3.6.3", f"{where} has record version {version}")
    padding = value[16 + length:]
    need(padding in (b"", b"\0"), "R-3.6.2", f"{where} ends with {padding.hex()}")
    need(len(value) & (len(value) - 1), "R-3.6.2", f"{where} has {len(value)} bytes")
    return payload


# Section 3.2.


class Record:
    def __init__(self, payload):
        self.bytes, self.at = payload, 0

    def take(self, count):
        need(count <= len(self.bytes) - self.at, "R-3.2.1", "a record is cut short")
        self.at += count
        return self.bytes[self.at - count:self.at]

    def varint(self):
        first = self.take(1)[0]
        need(first <= 253, "R-3.2.1", f"{first} begins no varint")
        return first if first <= 250 else int.from_bytes(self.take({251: 2, 252: 4, 253: 8}[first]), "little")

    def bool(self):
        byte = self.take(1)[0]
        need(byte < 2, "R-3.2.1", f"{byte} is no bool")
        return byte == 1

    def u8(self):
        return self.take(1)[0]

    def string(self):
        try:
            return self.take(self.varint()).decode()
        except UnicodeDecodeError as error:
            raise Damage(f"R-3.2.1: a string is not UTF-8: {error}") from None

    def option(self):
        return self.string() if self.bool() else None

    def f32(self):
        return struct.unpack("<f", self.take(4))[0]

    def sequence(self, item):
        count = self.varint()
        need(count <= len(self.bytes) - self.at, "R-3.2.1", f"a sequence of {count} is cut short")
        return [item() for _ in range(count)]

    def fields(self, **kinds):
        out = {name: kind(self) for name, kind in kinds.items()}
        need(self.at == len(self.bytes), "R-3.2.1", "bytes follow the record")
        return out


VARINT, STRING, BOOL, U8 = Record.varint, Record.string, Record.bool, Record.u8


# Section 6.5.


def unpack_lz4(packed, size):
    out, at = bytearray(), 0

    def more(length, at):
        while length >= 15:
            need(at < len(packed), "R-6.5.1", "a run is cut short")
            length += packed[at]
            at += 1
            if packed[at - 1] != 255:
                break
        return length, at

    while True:
        need(at < len(packed), "R-6.5.1", "there is no token")
        token = packed[at]
        count, at = more(token >> 4, at + 1)
        need(at + count <= len(packed) and len(out) + count <= size, "R-6.5.1", "literals leave the block")
        out += packed[at:at + count]
        at += count
        if at == len(packed):
            break
        need(at + 2 <= len(packed), "R-6.5.1", "an offset is cut short")
        offset = packed[at] | packed[at + 1] << 8
        need(0 < offset <= len(out), "R-6.5.1", f"no byte {offset} before")
        count, at = more(token & 15, at + 2)
        need(len(out) + count + 4 <= size, "R-6.5.1", "a copy leaves the block")
        for _ in range(count + 4):
            out.append(out[-offset])
    need(len(out) == size, "R-6.5.1", f"{len(out)} bytes, not {size}")
    return bytes(out)


# Section 6.4.


def open_tree(archive):
    """The columns by name. An archive is taken only as a writer makes it: rule 4."""
    need(len(archive) >= 120, "R-6.4.1", "an archive is shorter than its root")
    columns, expected = {}, 0
    for index, (name, kind) in enumerate(COLUMNS):
        entry = len(archive) - 120 + 8 * index
        offset, length = struct.unpack_from("<iI", archive, entry)
        start, size = entry + offset, length * struct.calcsize(kind)
        if length:
            need(start == expected and start + size <= len(archive) - 120, "R-6.4.1", f"column {name} is elsewhere")
            expected += size
            columns[name] = struct.unpack_from(f"<{length}{kind}", archive, start)
        else:
            columns[name] = ()
    need(expected == len(archive) - 120, "R-6.4.1", "bytes of the archive belong to no column")
    return columns


def strings(columns, bytes_name, ends_name):
    all_bytes, out, start = bytes(columns[bytes_name]), [], 0
    for end in columns[ends_name]:
        need(start <= end <= len(all_bytes), "R-6.4.3", f"{bytes_name}: a string ends at {end}")
        try:
            out.append(all_bytes[start:end].decode())
        except UnicodeDecodeError:
            raise Damage(f"R-6.4.3: {bytes_name}: a string is not UTF-8") from None
        start = end
    need(start == len(all_bytes), "R-6.4.3", f"{bytes_name}: bytes follow the last string")
    return out


def read_tree(archive, record, text):
    """The nodes, as the dump has them, with the number of their kind as `kind`."""
    c, n = open_tree(archive), record["nodes"]
    need(n > 0, "R-6.4.1", "a tree has no node")
    for name in ("parent", "last", "level", "kind", "tokens", "start", "end", "page", "title_end", "summary_end"):
        need(len(c[name]) == n, "R-6.4.1", f"column {name} has {len(c[name])} rows of {n}")
    need(len(c["attribute_end"]) == 2 * len(c["attribute_node"]), "R-6.4.1", "attributes are cut short")
    owners = list(c["attribute_node"])
    need(owners == sorted(owners) and all(owner < n for owner in owners), "R-6.4.2", "attributes are of no node")
    titles = strings(c, "titles", "title_end")
    summaries = strings(c, "summaries", "summary_end")
    pairs = strings(c, "attributes", "attribute_end")
    need((c["parent"][0], c["level"][0], c["last"][0]) == (0, 0, n - 1), "R-6.4.4", "the root is none")
    nodes, around, last_end = [], [], 0
    for i in range(n):
        kind, parent, last, start, end = (c[name][i] for name in ("kind", "parent", "last", "start", "end"))
        need(kind in KINDS and (kind == 1) == (i == 0), "R-6.4.5", f"node {i} is of kind {kind}")
        leaf = kind not in INNER
        need(last >= i and (not leaf or last == i), "R-6.4.6", f"node {i} ends at {last}")
        while around and c["last"][around[-1]] < i:
            around.pop()
        if i:
            need(around[-1] == parent, "R-6.4.7", f"node {i} is not a child of the innermost node around it")
            need(last <= c["last"][parent], "R-6.4.6", f"node {i} leaves its parent")
            need(c["level"][i] == c["level"][parent] + 1, "R-6.4.7", f"node {i} is not one level below its parent")
        around.append(i)
        need(start <= end <= len(text), "R-6.4.8", f"node {i} covers {start}..{end}")
        if leaf:
            need(start >= last_end, "R-6.4.9", f"leaf {i} overlaps the one before")
            for at in (start, end):
                need(at == len(text) or text[at] & 0xC0 != 0x80, "R-6.4.9", f"leaf {i} cuts a character at {at}")
            last_end = end
        first = record["first_node"]
        nodes.append({
            "attributes": {}, "end": end, "id": first + i, "kind": kind, "last": first + last,
            "level": c["level"][i], "page": c["page"][i], "parent": first + parent if i else None,
            "start": start, "summary": summaries[i], "title": titles[i], "tokens": c["tokens"][i],
        })
    for index, owner in enumerate(owners):
        nodes[owner]["attributes"][pairs[2 * index]] = pairs[2 * index + 1]
    leaves = [node for node in nodes if node["kind"] not in INNER]
    counted = (len(leaves), sum(node["tokens"] for node in leaves))
    need(counted == (record["leaves"], record["tokens"]), "R-6.4.10", f"the tree has {counted}")
    return nodes


def content_hash(record, nodes, text):
    parts = [record["key"], record["title"]]
    parts += ["0", ""] if record["language"] is None else ["1", record["language"]]
    parts.append(str(len(record["attributes"])))
    parts += [string for pair in record["attributes"] for string in pair]
    parts.append(text)
    for node in nodes:
        parts += [str(len(node["attributes"])), node["title"], node["summary"]]
        parts += [string for pair in sorted(node["attributes"].items()) for string in pair]
        inner = node["kind"] in INNER
        parent = 0xFFFFFFFF if node["parent"] is None else node["parent"] - record["first_node"]
        span = (0, 0) if inner else (node["start"], node["end"])
        parts.append(" ".join(map(str, (parent, node["kind"], *span, node["page"]))))
    out = hashlib.sha256()
    for part in parts:
        part = part.encode()
        out.update(struct.pack("<Q", len(part)) + part)
    return out.digest()


# Appendix B.


def read_roaring(data):
    at = 0

    def take(count):
        nonlocal at
        need(at + count <= len(data), "R-7.4.2", "a bitmap is cut short")
        at += count
        return data[at - count:at]

    cookie = struct.unpack("<I", take(4))[0]
    flags = b""
    if cookie & 0xFFFF == 12347:
        count = (cookie >> 16) + 1
        flags = take((count + 7) // 8)
    else:
        need(cookie == 12346, "R-7.4.2", f"{cookie} begins no bitmap")
        count = struct.unpack("<I", take(4))[0]
    need(count <= 65_536, "R-7.4.2", f"a bitmap of {count} containers")
    descriptions = [struct.unpack("<HH", take(4)) for _ in range(count)]
    if not flags or count >= 4:
        take(4 * count)
    out = []
    for index, (high, cardinality) in enumerate(descriptions):
        cardinality += 1
        if flags and flags[index // 8] >> index % 8 & 1:
            low = []
            for _ in range(struct.unpack("<H", take(2))[0]):
                first, length = struct.unpack("<HH", take(4))
                low += range(first, first + length + 1)
        elif cardinality <= 4096:
            low = struct.unpack(f"<{cardinality}H", take(2 * cardinality))
        else:
            bits = take(8192)
            low = [x for x in range(65_536) if bits[x // 8] >> x % 8 & 1]
        need(len(low) == cardinality, "R-7.4.2", "a container has another cardinality")
        out += [high << 16 | x for x in low]
    need(at == len(data), "R-7.4.2", "bytes follow a bitmap")
    need(all(a < b for a, b in zip(out, out[1:])), "R-7.4.2", "a bitmap does not ascend")
    return out


# Appendix A.


def crc32c(data, table=[]):
    if not table:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
            table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Fst:
    def __init__(self, data):
        need(len(data) >= 36, "R-7.4.1", "an fst has 36 bytes at least")
        crc = crc32c(data[:-4])
        masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        need(masked == struct.unpack("<I", data[-4:])[0], "R-7.4.1", "the checksum of the fst is wrong")
        version, kind = struct.unpack_from("<QQ", data)
        need((version, kind) == (3, 0), "R-7.4.1", f"an fst of version {version}, type {kind}")
        self.keys, self.root = struct.unpack_from("<QQ", data, len(data) - 20)
        self.data = data

    def number(self, at, size):
        need(at >= 16, "R-7.4.1", "a node leaves the fst")
        return int.from_bytes(self.data[at:at + size], "little")

    def node(self, address):
        """Whether it is final, its final output, and its transitions as (input, output, address)."""
        if address == 0:
            return True, 0, []
        need(16 <= address < len(self.data) - 20, "R-7.4.1", f"there is no node {address}")
        state, at = self.data[address], address
        low = state & 63

        def target(distance, first):
            need(distance <= first, "R-7.4.1", "a transition leaves the fst")
            return first - distance if distance else 0

        if state & 128:
            if low:
                byte = COMMON_INPUTS[low - 1]
            else:
                at -= 1
                byte = self.data[at]
            if state & 64:
                return False, 0, [(byte, 0, at - 1)]
            at -= 1
            sizes = self.data[at]
            at -= sizes >> 4
            distance = self.number(at, sizes >> 4)
            at -= sizes & 15
            output = self.number(at, sizes & 15)
            return False, 0, [(byte, output, target(distance, at))]
        count = low
        if not low:
            at -= 1
            count = {1: 256}.get(self.data[at], self.data[at])
        at -= 1
        sizes = self.data[at]
        t, o = sizes >> 4, sizes & 15
        at -= 256 if count > 32 else 0
        final, final_output = bool(state & 64), 0
        need(at - count * (1 + t + o) - (o if final else 0) >= 16, "R-7.4.1", "a node leaves the fst")
        inputs = [self.data[at - 1 - i] for i in range(count)]
        at -= count
        distances = [self.number(at - (i + 1) * t, t) for i in range(count)]
        at -= count * t
        outputs = [self.number(at - (i + 1) * o, o) for i in range(count)]
        at -= count * o
        if final and o:
            at -= o
            final_output = self.number(at, o)
        return final, final_output, [(b, out, target(d, at)) for b, out, d in zip(inputs, outputs, distances)]

    def get(self, key):
        address, value = self.root, 0
        for byte in key:
            found = [(out, to) for b, out, to in self.node(address)[2] if b == byte]
            if not found:
                return None
            value, address = value + found[0][0], found[0][1]
        final, output, _ = self.node(address)
        return value + output if final else None

    def items(self):
        """All keys in order, each with its value."""
        stack = [(b"", 0, self.root)]
        while stack:
            key, value, address = stack.pop()
            need(len(key) <= 70_000, "R-7.4.1", "a key has no end")
            final, output, transitions = self.node(address)
            if final:
                yield key, value + output
            for byte, out, to in reversed(transitions):
                need(to < address, "R-7.4.1", "a transition goes upward")
                stack.append((key + bytes([byte]), value + out, to))


# Section 7.5.


def unpack_bits(data, bits):
    words = struct.unpack(f"<{len(data) // 4}I", data)
    lanes = [sum(words[4 * w + lane] << 32 * w for w in range(bits)) for lane in range(4)]
    return [lanes[i % 4] >> (i // 4) * bits & (1 << bits) - 1 for i in range(128)]


class Bytes:
    """A reader of bytes that ends a walk with the requirement it breaks."""

    def __init__(self, data, requirement, at=0):
        self.data, self.requirement, self.at = data, requirement, at

    def take(self, size):
        need(self.at + size <= len(self.data), self.requirement, "bytes are cut short")
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Damage(f"{self.requirement}: a varint is too long")

    def numbers(self, code, count):
        return list(struct.unpack(f"<{count}{code}", self.take(struct.calcsize(f"<{code}") * count)))


def length_class(length):
    if length < 64:
        return length
    e = length.bit_length() - 1
    return min(255, 64 + 32 * (e - 6) + (length >> (e - 5)) % 32)


class Leaves:
    """What bounds are made from: for each leaf its full length, and their mean."""

    def __init__(self, lens, mean):
        self.lens, self.mean = lens, max(mean, 1e-9)

    def check(self, kind, bounds, maxima, postings):
        """R-7.5.6."""
        need(bounds[0] == 0, "R-7.5.6", "the first bound is not 0")
        for ordinal, freq in postings:
            length = self.lens[ordinal]
            bound = bounds[min(freq, 15)]
            need(bound < 255 and bound <= length_class(length), "R-7.5.6", f"leaf {ordinal} is below its bound")
            if kind > 2:
                impact = math.ceil(255 * (freq / (freq + 1.2 * (1 - 0.75 + 0.75 * length / self.mean))))
                need(maxima[ordinal >> 8] >= impact, "R-7.5.6", f"leaf {ordinal} is above its maximum")


def read_postings(data, count, leaves=None, bound=0):
    """The kind of a list, and its pairs of ordinal and frequency; `leaves` if it is a list of leaves."""
    if count == 0:
        need(data == b"", "R-7.5.1", "an empty list has bytes")
        return 1, []
    n = len(leaves.lens) if leaves else bound
    need(count <= n, "R-7.5.1", "more postings than nodes")
    kind = (1 if count < 128 else 2 if not leaves or 32 * count < n else 3 if 4 * count < n else 4)
    need(data[:1] == bytes([kind]), "R-7.5.1", "the kind of a list is wrong")
    read = Bytes(data, "R-7.5.1", 1)
    bounds = read.take(16) if kind > 1 else None
    maxima = None
    if kind < 3:
        out = read_pairs(read, count, kind)
    else:
        maxima, out = read_buckets(read, count, kind, n)
    need(read.at == len(data), "R-7.5.1", "bytes follow a list")
    ordinals = [ordinal for ordinal, _ in out]
    need(all(a < b for a, b in zip(ordinals, ordinals[1:])) and ordinals[-1] < n and len(out) == count, "R-7.5.1",
         "ordinals do not ascend to below their bound")
    if bounds and leaves:
        leaves.check(kind, bounds, maxima, out)
    elif bounds:
        need(bounds == b"\0" + b"\xff" * 15, "R-7.5.6", "a list of inner nodes has bounds")
    return kind, out


def read_pairs(read, count, kind):
    out, before = [], -1
    if kind == 2:
        skips = [struct.unpack("<IIBB", read.take(10)) for _ in range(count // 128)]
        start = read.at
        for last, offset, bits, tf_bits in skips:
            need(offset == read.at - start, "R-7.5.2", f"a block begins at {offset}")
            need(bits <= 32 and tf_bits <= 32, "R-7.5.2", "a width is over 32 bits")
            deltas, freqs = (unpack_bits(read.take(16 * width), width) for width in (bits, tf_bits))
            ordinal = max(before, 0)
            for delta, freq in zip(deltas, freqs):
                ordinal += delta
                out.append((ordinal, freq + 1))
            before = ordinal
            need(ordinal == last, "R-7.5.2", f"a block ends at {ordinal}, not {last}")
    for _ in range(count if kind == 1 else count % 128):
        pair = read.varint()
        before += 1 + pair // 2
        out.append((before, read.varint() + 2 if pair % 2 else 1))
    return out


def read_buckets(read, count, kind, n):
    """The maxima and the postings of a list of kind 3 or 4."""
    escapes, buckets = read.varint(), (n + 255) // 256
    if kind == 3:
        coarse = read.numbers("I", buckets // 16 + 1)
        offsets = [coarse[at // 16] + fine for at, fine in enumerate(read.numbers("H", buckets + 1))]
        need(offsets[0] == 0 and offsets[-1] == count and all(a <= b for a, b in zip(offsets, offsets[1:])), "R-7.5.5",
             f"offsets are {offsets}")
    maxima = read.take(buckets)
    if kind == 3:
        low = read.take(count)
        ordinals = [bucket << 8 | byte for bucket in range(buckets)
                    for byte in low[offsets[bucket]:offsets[bucket + 1]]]
    else:
        ordinals = range(n)
    packed = read.take((len(ordinals) + 1) // 2)
    need(len(ordinals) % 2 == 0 or packed[-1] < 16, "R-7.5.4", "a nibble follows the last")
    freqs = [packed[at // 2] >> at % 2 * 4 & 15 for at in range(len(ordinals))]
    need(kind == 4 or all(freqs), "R-7.5.5", "a frequency is 0")
    flat = read.numbers("I", 2 * escapes)
    told = list(zip(flat[::2], flat[1::2]))
    need([ordinal for ordinal, _ in told] == [o for o, freq in zip(ordinals, freqs) if freq == 15]
         and all(freq >= 15 for _, freq in told), "R-7.5.4", "escapes are not those of the nibbles")
    more = dict(told)
    return maxima, [(o, more[o] if freq == 15 else freq) for o, freq in zip(ordinals, freqs) if freq]


# Section 7.10.


def read_positions(data, kind, postings, n):
    """For each posting its positions."""
    if not postings:
        need(data == b"", "R-7.10.1", "there are positions of no posting")
        return []
    if kind < 3:
        groups = [postings[at:at + 128] for at in range(0, len(postings), 128)]
    else:
        groups = [[] for _ in range((n + 255) // 256)]
        for posting in postings:
            groups[posting[0] >> 8].append(posting)
    read = Bytes(data, "R-7.10.1")
    table = read.numbers("I", len(groups)) if len(groups) > 1 else [0]
    start, out = read.at, []
    for group, offset in zip(groups, table):
        need(offset == read.at - start, "R-7.10.1", f"a group begins at {offset}")
        if not group:
            continue
        width, total = read.take(1)[0], sum(freq for _, freq in group)
        need(1 <= width <= 32, "R-7.10.1", f"a width of {width} bits")
        bits = int.from_bytes(read.take((total * width + 7) // 8), "little")
        need(bits >> total * width == 0, "R-7.10.1", "bits follow the last number")
        at = 0
        for _, freq in group:
            numbers = [bits >> (at + i) * width & (1 << width) - 1 for i in range(freq)]
            out.append(list(itertools.accumulate(numbers)))
            at += freq
    need(read.at == len(data), "R-7.10.1", "bytes follow the positions")
    need(all(found[-1] < 1 << 32 for found in out), "R-7.10.1", "a position is over 32 bits")
    return out


class Segment:
    def __init__(self, file, number):
        header = Record(file.get("text_segments", u32_key(number), "R-7.1.1"))
        self.header = h = header.fields(
            first_node=VARINT, last_node=VARINT, leaf_count=VARINT, inner_count=VARINT, section_count=VARINT,
            document_count=VARINT, own_terms=VARINT, full_terms=VARINT, list_count=VARINT, dictionary_bytes=VARINT,
            postings_bytes=VARINT, positions_bytes=VARINT)
        sizes = {1: h["dictionary_bytes"], 3: 10 * h["leaf_count"], 4: 14 * h["inner_count"], 5: h["postings_bytes"],
                 6: h["positions_bytes"]}
        parts = {}
        for part, size in sizes.items():
            chunks = []
            for index in range((size + PART_CHUNK - 1) // PART_CHUNK):
                key = u32_key(number) + bytes([part]) + u32_key(index)
                chunks.append(file.get("text_parts", key, "R-7.3.1"))
                need(len(chunks[-1]) == min(PART_CHUNK, size - index * PART_CHUNK), "R-7.3.1", "a chunk is short")
            parts[part] = b"".join(chunks)
        self.fst, self.postings, self.positions = Fst(parts[1]), parts[5], parts[6]
        self.leaves = list(struct.iter_unpack("<IIBB", parts[3]))
        self.inner = list(struct.iter_unpack("<IIIBB", parts[4]))
        self.check_nodes()

    def check_nodes(self):
        """Holds the header against the nodes: R-7.2.1, R-7.6.1."""
        nodes = [(*leaf[:2], None) for leaf in self.leaves] + [(node[0], node[2], node[1]) for node in self.inner]
        nodes.sort()
        for records in (self.leaves, self.inner):
            need(all(a[0] < b[0] for a, b in zip(records, records[1:])), "R-7.6.1", "ids do not ascend")
        open_nodes, sections, roots, own, full = [], set(), 0, 0, 0
        lens = []
        for node, own_len, last in nodes:
            while open_nodes and open_nodes[-1][1] < node:
                open_nodes.pop()
            above = open_nodes[-1][2] if open_nodes else 0
            if last is None:
                need(open_nodes, "R-7.6.1", f"leaf {node} has no parent")
                sections.add(open_nodes[-1][0])
                own, full = own + own_len, full + own_len + above
                lens.append(own_len + above)
            else:
                need(node <= last and (not open_nodes or last <= open_nodes[-1][1]), "R-7.6.1", f"node {node} overlaps")
                roots += not open_nodes
                open_nodes.append((node, last, above + own_len))
        h = self.header
        found = (nodes[0][0], nodes[-1][0], len(sections), roots, own, full) if nodes else (0,) * 6
        told = tuple(h[name] for name in ("first_node", "last_node", "section_count", "document_count", "own_terms",
                                          "full_terms"))
        need(found == told, "R-7.2.1", f"the nodes give {found}, the header {told}")
        self.columns = Leaves(lens, full / len(lens) if lens else 0.0)

    def entry(self, value, is_term):
        """The set, or the postings with positions of leaves and of inner nodes; where its bytes begin and end."""
        if value & 1:
            ordinal, position = value >> 1 & (1 << 31) - 1, value >> 32
            need(is_term and ordinal < len(self.leaves), "R-7.10.2", f"a lone posting of leaf {ordinal}")
            return ([(ordinal, [position])], []), None
        read = Bytes(self.postings, "R-7.4.3", value >> 1)
        if not is_term:
            count = read.varint()
            nodes = read_roaring(read.take(read.varint()))
            h = self.header
            need(len(nodes) == count and all(h["first_node"] <= node <= h["last_node"] for node in nodes), "R-7.4.2",
                 "a set has other nodes")
            return nodes, (value >> 1, read.at, None, None)
        body, heading, body_bytes, heading_bytes = (read.varint() for _ in range(4))
        full = read.varint() if heading else body
        offset, *sizes = (read.varint() for _ in range(3 if heading else 2))
        lists = (read.take(body_bytes), read.take(heading_bytes))
        at = Bytes(self.positions, "R-7.4.3", offset)
        sizes = [at.take(size) for size in (*sizes, 0)[:2]]
        kind, leaves = read_postings(lists[0], body, self.columns)
        _, inner = read_postings(lists[1], heading, bound=len(self.inner))
        with_positions = []
        for postings, kind, data in ((leaves, kind, sizes[0]), (inner, 1, sizes[1])):
            positions = read_positions(data, kind, postings, len(self.leaves))
            with_positions.append([(ordinal, found) for (ordinal, _), found in zip(postings, positions)])
        self.check_full(full, leaves, inner)
        lone = len(leaves) == 1 and leaves[0][1] == 1 and not inner and leaves[0][0] < 1 << 31
        need((leaves or inner) and not lone, "R-7.4.1", "an entry of no posting, or of a lone one")
        return tuple(with_positions), (value >> 1, read.at, offset, at.at)

    def check_full(self, full, leaves, inner):
        """R-7.4.4."""
        found = {ordinal for ordinal, _ in leaves}
        for ordinal, _ in inner:
            first, last = self.inner[ordinal][:2]
            found.update(range(bisect.bisect_left(self.leaves, (first,)), bisect.bisect_left(self.leaves, (last + 1,))))
        need(full == len(found), "R-7.4.4", f"full_count is {full}, the lists give {len(found)}")

    def check_lists(self):
        """Reads every list and holds them against the node records."""
        keys = list(self.fst.items())
        need(len(keys) == self.fst.keys == self.header["list_count"], "R-7.4.1", "keys are not as many as told")
        leaf_terms, inner_terms = [0] * len(self.leaves), [0] * len(self.inner)
        end, positions_end = 0, 0
        for key, value in keys:
            need(key[:1] in (b"a", b"k", b"l", b"t"), "R-7.4.1", f"no key begins with {key[:1]}")
            found, extent = self.entry(value, key[:1] == b"t")
            if extent:
                need(extent[0] == end and extent[2] in (None, positions_end), "R-7.4.3", f"{key} has its entry elsewhere")
                end, positions_end = extent[1], positions_end if extent[3] is None else extent[3]
            if key[:1] == b"t":
                for counts, postings in zip((leaf_terms, inner_terms), found):
                    for ordinal, positions in postings:
                        counts[ordinal] += len(positions)
            elif key[:1] in (b"k", b"l"):
                column = -2 if key[:1] == b"k" else -1
                nodes = sorted(node[0] for node in self.leaves + self.inner if node[column] == key[1])
                need(found == nodes, "R-7.4.2", f"the set {key} has other nodes than the records")
        need((end, positions_end) == (len(self.postings), len(self.positions)), "R-7.4.3", "bytes follow the last entry")
        need(leaf_terms == [leaf[1] for leaf in self.leaves], "R-7.2.1", "frequencies do not sum to the terms of leaves")
        need(inner_terms == [node[2] for node in self.inner], "R-7.2.1", "frequencies do not sum to the terms of titles")


# Section 14.


def is_weight(weight):
    return 0 <= weight < float("inf")


class Graph:
    """What documents support, from the records; the segments must say the same."""

    def __init__(self, file):
        self.file, rows = file, file.rows
        self.alive = {node["id"]: number for number, (_, nodes, _) in file.documents.items() for node in nodes}
        there = b"graph" in rows["meta"]
        need(there == (b"graph" in rows["manifest"]) == bool(file.identity["write_features"] & 1), "R-14.1.1",
             "counters, manifest and feature bit are not there together")
        self.counters = {"next_entity": 1, "next_hyperedge": 1, "next_name": 1, "next_segment": 1}
        segments = []
        if there:
            self.counters = Record(rows["meta"][b"graph"]).fields(
                next_entity=VARINT, next_hyperedge=VARINT, next_name=VARINT, next_segment=VARINT)
            names = ("segment", "first_node", "last_node", "hyperedges", "members", "supports", "entities", "mentions")
            manifest = Record(rows["manifest"][b"graph"])
            entry = lambda: {name: manifest.varint() for name in names}
            segments = manifest.fields(segments=lambda record: record.sequence(entry))["segments"]
        self.names = {self.id(key, "next_name"): Record(payload).fields(name=STRING)["name"]
                      for key, payload in rows["graph_names"].items()}
        need(len(self.names) == self.counters["next_name"] - 1, "R-14.1.1", "there is not a name for each id")
        self.read_entities()
        self.read_hyperedges()
        self.read_documents()
        self.check_segments(segments)

    def id(self, key, counter):
        need(len(key) == 4, "R-14.1.1", f"{key.hex()} is no id")
        number = struct.unpack(">I", key)[0]
        need(0 < number < self.counters[counter], "R-14.1.1", f"{number} is not below {counter}")
        return number

    def read_entities(self):
        self.entities, keys = {}, {}
        fact = lambda record: lambda: (record.string(), record.string(), record.varint())
        for key, payload in self.file.rows["entities"].items():
            entity = Record(payload).fields(
                name=STRING, kind=STRING, facts=lambda record: record.sequence(fact(record)))
            number = self.id(key, "next_entity")
            self.entities[number] = entity
            keys[entity["name"].encode() + b"\0" + entity["kind"].encode()] = number
        found = {key: Record(payload).fields(id=VARINT)["id"] for key, payload in self.file.rows["entity_keys"].items()}
        need(found == keys and len(keys) == len(self.entities), "R-14.3.1", "entity_keys differs")

    def read_hyperedges(self):
        self.hyperedges, keys = {}, {}
        member = lambda record: lambda: (record.varint(), record.bool(), record.varint())
        place = lambda record: tuple(record.varint() for _ in range(3)) if record.bool() else None
        count = 0
        for key, payload in self.file.rows["hyperedges"].items():
            edge = Record(payload).fields(kind=VARINT, label=STRING, text=Record.option, place=place,
                                          members=lambda record: record.sequence(member(record)))
            number = self.id(key, "next_hyperedge")
            need(edge["members"] and all(name in self.names for name in [edge["kind"], *(m[0] for m in edge["members"])]),
                 "R-14.4.1", f"hyperedge {number} has no member, or a name that is not there")
            self.hyperedges[number] = edge
            if edge["place"] is None:
                count += 1
                keys[self.key_of(edge)] = number
        found = {key: Record(payload).fields(id=VARINT)["id"] for key, payload in self.file.rows["hyperedge_keys"].items()}
        need(found == keys and len(keys) == count, "R-14.4.2", "hyperedge_keys differs")

    def key_of(self, edge):
        parts = [self.names[edge["kind"]], edge["label"], ""]
        for role, is_node, target in edge["members"]:
            parts += [self.names[role], f"{'node' if is_node else 'entity'} {target}"]
        encoded = [part.encode() for part in parts]
        return hashlib.sha256(b"".join(struct.pack("<Q", len(part)) + part for part in encoded)).digest()[:16]

    def read_documents(self):
        self.mentions, self.supports = {}, {}
        support = lambda record: lambda: (record.varint(), record.varint(), record.f32())
        for key, payload in self.file.rows["graph_documents"].items():
            need(len(key) == 8, "R-14.5.1", f"{key.hex()} is no document and part")
            document = struct.unpack(">II", key)[0]
            lists = Record(payload).fields(mentions=lambda record: record.sequence(support(record)),
                                           supports=lambda record: record.sequence(support(record)))
            for name, known in (("mentions", self.entities), ("supports", self.hyperedges)):
                for thing, node, weight in lists[name]:
                    need(self.alive.get(node) == document and thing in known and is_weight(weight), "R-14.5.1",
                         f"document {document} cannot say that of node {node}")
                    nodes = getattr(self, name).setdefault(thing, {})
                    nodes[node] = max(weight, nodes.get(node, 0.0))
        gone = lambda edge: any(is_node and target in self.file.deleted for _, is_node, target in edge["members"])
        self.supports = {number: nodes for number, nodes in self.supports.items() if not gone(self.hyperedges[number])}

    def check_segments(self, segments):
        rows, used, mentions, supports, told = self.file.rows["graph_parts"], set(), {}, {}, set()
        for entry in segments:
            need(0 < entry["segment"] < self.counters["next_segment"], "R-14.1.1", "a segment is above the counters")

            def part(number, count, kinds):
                size = struct.calcsize("<" + kinds)
                data = b""
                for at in range((count * size + PART_CHUNK - 1) // PART_CHUNK):
                    key = struct.pack(">IBI", entry["segment"], number, at)
                    need(key in rows, "R-14.6.1", f"graph_parts[{key.hex()}] is missing")
                    used.add(key)
                    data += rows[key]
                need(len(data) == count * size, "R-14.6.1", f"part {number} has {len(data)} bytes")
                return list(struct.iter_unpack("<" + kinds, data)) if count else []

            edges, members = part(1, entry["hyperedges"], "IIII"), part(2, entry["members"], "II")
            links, known = part(3, entry["supports"], "If"), part(4, entry["entities"], "II")
            named = part(5, entry["mentions"], "If")
            nodes = [node for node, _ in links + named]
            need((min(nodes, default=0), max(nodes, default=0)) == (entry["first_node"], entry["last_node"]), "R-14.6.2",
                 "the range of nodes is another")
            before = (0, 0, 0)
            for number, kind, member_end, support_end in edges:
                own, held = members[before[1]:member_end], links[before[2]:support_end]
                self.check_links(number, before[0], held)
                need(own and len(members) >= member_end and len(links) >= support_end, "R-14.6.2", "an end is beyond")
                edge = self.hyperedges.get(number)
                need(edge is not None and kind == edge["kind"]
                     and [(target, role) for target, role in own]
                     == [(target, 2 * role + is_node) for role, is_node, target in edge["members"]], "R-14.6.3",
                     f"hyperedge {number} is another in the segment")
                told.update(target for target, role in own if role % 2 == 0)
                self.take(supports, number, held)
                before = (number, member_end, support_end)
            need(before[1:] == (len(members), len(links)), "R-14.6.2", "rows follow the last hyperedge")
            last = (0, 0)
            for number, end in known:
                self.check_links(number, last[0], named[last[1]:end])
                need(len(named) >= end, "R-14.6.2", "an end is beyond")
                self.take(mentions, number, named[last[1]:end])
                last = (number, end)
            need(last[1] == len(named), "R-14.6.2", "rows follow the last entity")
        need(used == set(rows), "R-14.6.1", "graph_parts has rows of no segment")
        dead = lambda number: any(n and target in self.file.deleted for _, n, target in self.hyperedges[number]["members"])
        supports = {number: nodes for number, nodes in supports.items() if not dead(number)}
        need(mentions == self.mentions and supports == self.supports, "R-14.6.3", "segments and documents differ")
        live = {target for number in supports for _, is_node, target in self.hyperedges[number]["members"] if not is_node}
        need(live <= set(mentions), "R-14.6.3", "a member is mentioned by nothing")

    @staticmethod
    def check_links(number, before, links):
        nodes = [node for node, _ in links]
        need(number > before and nodes and nodes[0] > 0 and all(a < b for a, b in zip(nodes, nodes[1:]))
             and all(is_weight(weight) for _, weight in links), "R-14.6.2", f"rows of {number} are not in order")

    def take(self, into, number, links):
        for node, weight in links:
            if node not in self.file.deleted:
                nodes = into.setdefault(number, {})
                nodes[node] = max(weight, nodes.get(node, 0.0))

    def text_of(self, edge):
        if edge["place"] is None:
            return edge["text"]
        node, start, end = edge["place"]
        need(node in self.alive, "R-14.4.1", f"there is no node {node}")
        text = self.file.documents[self.alive[node]][2].encode()
        need(start <= end <= len(text), "R-14.4.1", f"{start}..{end} leaves the text")
        try:
            return text[start:end].decode()
        except UnicodeDecodeError:
            raise Damage(f"R-14.4.1: {start}..{end} cuts a character") from None

    def dump(self, line):
        def links(nodes):
            return [[node, struct.unpack("<I", struct.pack("<f", nodes[node]))[0]] for node in sorted(nodes)]

        for number in sorted(self.mentions):
            entity, attributes = self.entities[number], {}
            for key, value, root in entity["facts"]:
                if root not in self.file.deleted:
                    attributes.setdefault(key, set()).add(value)
            aliases = sorted(attributes.pop("", ()), key=str.encode)
            line(type="entity", id=number, name=entity["name"], kind=entity["kind"], aliases=aliases,
                 attributes={key: sorted(values, key=str.encode) for key, values in attributes.items()},
                 mentions=links(self.mentions[number]))
        for number in sorted(self.supports):
            edge = self.hyperedges[number]
            line(type="hyperedge", id=number, kind=self.names[edge["kind"]], label=edge["label"], text=self.text_of(edge),
                 members=[{"node" if is_node else "entity": target, "role": self.names[role]}
                          for role, is_node, target in edge["members"]],
                 supports=links(self.supports[number]))


class File:
    def __init__(self, lines):
        self.rows = {name: {} for name, _, _ in TABLES}
        tags = {name: tag for name, tag, _ in TABLES}
        for line in lines:
            row = json.loads(line)
            table, key = row["table"], bytes.fromhex(row["key"])
            if table in tags:
                self.rows[table][key] = open_frame(table, tags[table], key, bytes.fromhex(row["value"]))
        self.read_identity()
        self.read_documents()
        self.check_totals()
        self.read_index()
        self.graph = Graph(self)
        self.read_spaces()

    def get(self, table, key, requirement):
        need(key in self.rows[table], requirement, f"{table}[{key.hex()}] is missing")
        return self.rows[table][key]

    def read_identity(self):
        identity = Record(self.get("meta", b"identity", "R-4.1.1")).fields(
            magic=lambda record: record.take(8), format_version=VARINT, read_features=VARINT, write_features=VARINT,
            creator=STRING, token_counter=STRING, analyzer=STRING, sealed=BOOL)
        need(identity["magic"] == b"evdb\r\n\x1a\n", "R-4.1.1", "the magic is another")
        need(identity["format_version"] == 1, "R-4.1.2", f"format version {identity['format_version']}")
        need(identity["read_features"] == 0, "R-4.2.1", f"read features {identity['read_features']:x}")
        self.identity = identity
        self.counters = Record(self.get("meta", b"counters", "R-4.1.3")).fields(
            commits=VARINT, next_document=VARINT, next_node=VARINT, next_segment=VARINT, next_space=VARINT,
            documents=VARINT, nodes=VARINT, leaves=VARINT, leaf_tokens=VARINT, text_bytes=VARINT)
        for name, _, derived in TABLES:
            entry = Record(self.get("catalogue", name.encode(), "R-6.1.1")).fields(derived=BOOL, section=STRING)
            need(entry["derived"] == derived, "R-6.1.1", f"the catalogue is wrong about {name}")

    def joined(self, table, document, size, piece, read, requirement):
        pieces, count = [], (size + piece - 1) // piece
        for index in range(count):
            key = u32_key(document, index)
            pieces.append(read(self.get(table, key, requirement)))
            self.used[table].add(key)
            need(len(pieces[-1]) == min(piece, size - index * piece), requirement, f"{table}: a piece is short")
        return b"".join(pieces)

    def read_documents(self):
        self.documents, self.used = {}, {"trees": set(), "texts": set()}
        before = 0
        for key in sorted(self.rows["documents"]):
            number = struct.unpack(">I", key)[0]
            record = Record(self.rows["documents"][key]).fields(
                key=STRING, title=STRING, source=Record.option, language=Record.option,
                content_hash=lambda record: record.take(32),
                attributes=lambda record: record.sequence(lambda: (record.string(), record.string())),
                first_node=VARINT, nodes=VARINT, leaves=VARINT, tokens=VARINT, text_bytes=VARINT, tree_bytes=VARINT)
            need(record["first_node"] > before, "R-9.3", f"nodes of document {number} overlap")
            before = record["first_node"] + record["nodes"] - 1
            need(number < self.counters["next_document"] and before < self.counters["next_node"], "R-3.5.1",
                 f"document {number} has an id above the counters")
            text = self.joined("texts", number, record["text_bytes"], TEXT_BLOCK, self.unpack_block, "R-6.5.2")
            try:
                decoded = text.decode()
            except UnicodeDecodeError as error:
                raise Damage(f"R-6.5.2: the text of document {number}: {error}") from None
            archive = self.joined("trees", number, record["tree_bytes"], TREE_CHUNK, bytes, "R-9.1")
            nodes = read_tree(archive, record, text)
            if content_hash(record, nodes, decoded) != record["content_hash"]:
                print(f"document {number}: the content hash is another", file=sys.stderr)
            self.documents[number] = (record, nodes, decoded)

    @staticmethod
    def unpack_block(payload):
        need(len(payload) >= 4, "R-6.5.1", "a block is short")
        size = struct.unpack_from("<I", payload)[0]
        need(size <= TEXT_BLOCK, "R-6.5.1", f"a block of {size} bytes")
        return unpack_lz4(payload[4:], size)

    def check_totals(self):
        for table, used in self.used.items():
            need(used == set(self.rows[table]), "R-9.1", f"{table} has rows of no document")
        records = {number: record for number, (record, _, _) in self.documents.items()}
        varint = lambda payload: Record(payload).fields(id=VARINT)["id"]
        keys = {key.decode(): varint(payload) for key, payload in self.rows["document_keys"].items()}
        need(keys == {record["key"]: number for number, record in records.items()}, "R-6.3.1", "document_keys differs")
        roots = {struct.unpack(">I", key)[0]: varint(payload) for key, payload in self.rows["roots"].items()}
        need(roots == {record["first_node"]: number for number, record in records.items()}, "R-6.3.1", "roots differs")
        sums = [("documents", len(records))]
        for counter, field in (("nodes", "nodes"), ("leaves", "leaves"), ("leaf_tokens", "tokens"),
                               ("text_bytes", "text_bytes")):
            sums.append((counter, sum(record[field] for record in records.values())))
        for counter, total in sums:
            need(self.counters[counter] == total, "R-9.2", f"{counter} is {self.counters[counter]}, not {total}")

    def read_index(self):
        entries, deleted = [], []
        if self.counters["commits"]:
            manifest = Record(self.get("manifest", b"live", "R-7.1.1"))
            entry = lambda: {name: manifest.varint() for name in ("segment", "first_node", "last_node", "chunks", "bytes")}
            entries = manifest.fields(segments=lambda record: record.sequence(entry))["segments"]
            deleted = read_roaring(self.get("deleted", b"nodes", "R-7.7.1"))
        self.deleted = set(deleted)
        live = {node["id"] for _, nodes, _ in self.documents.values() for node in nodes}
        need(not live & self.deleted, "R-7.7.1", "a node of a document is deleted")
        self.segments, before, seen = [], 0, []
        chunks = dict.fromkeys((entry["segment"] for entry in entries), (0, 0))
        for key, payload in self.rows["text_parts"].items():
            number = struct.unpack_from(">I", key)[0]
            need(number in chunks, "R-7.1.1", f"a part of segment {number}, which is not alive")
            chunks[number] = (chunks[number][0] + 1, chunks[number][1] + len(payload))
        need(len(self.rows["text_segments"]) == len(entries), "R-7.1.1", "headers and manifest differ")
        for entry in entries:
            segment = Segment(self, entry["segment"])
            told = (entry["first_node"], entry["last_node"])
            need(told == (segment.header["first_node"], segment.header["last_node"]), "R-7.1.1", "a range differs")
            need(chunks[entry["segment"]] == (entry["chunks"], entry["bytes"]), "R-7.1.1", "chunks are others")
            need(told[0] > before and entry["segment"] < self.counters["next_segment"], "R-7.1.1", "segments overlap")
            before = told[1]
            segment.check_lists()
            seen += [leaf[0] for leaf in segment.leaves if leaf[0] not in self.deleted]
            self.segments.append(segment)
        leaves = [node["id"] for _, nodes, _ in self.documents.values() for node in nodes if node["kind"] not in INNER]
        need(seen == leaves, "R-7.1.2", "the index has other leaves than the trees")

    def read_spaces(self):
        live = {node["id"] for _, nodes, _ in self.documents.values() for node in nodes}
        blocks, self.spaces = 0, {}
        for key in sorted(self.rows["spaces"]):
            number = struct.unpack(">I", key)[0]
            need(number < self.counters["next_space"], "R-3.5.1", f"space {number} is above the counters")
            space = Record(self.rows["spaces"][key]).fields(
                name=STRING, fingerprint=STRING, dimension=VARINT, element=U8, metric=U8, rows=VARINT, live=VARINT,
                generation=VARINT, last_nodes=lambda record: record.sequence(record.varint))
            ends = space["last_nodes"]
            counter = {"entities": "next_entity", "hyperedges": "next_hyperedge"}.get(space["name"].rpartition("#")[2])
            objects = counter if "#" in space["name"] else None
            need(objects or "#" not in space["name"], "R-8.1.1", f"the name of space {number}")
            need(1 <= space["dimension"] <= 65_515 and space["element"] == 1 and space["metric"] in (1, 2, 3)
                 and space["live"] <= space["rows"] and all(a < b for a, b in zip(ends, ends[1:])), "R-8.1.1",
                 f"the record of space {number}")
            self.spaces[number] = space
            rows, living, before = 0, 0, 0
            for block, last in enumerate(ends):
                nodes = self.read_block(number, block, space, block + 1 < len(ends))
                need(nodes[0] > before and nodes[-1] == last, "R-8.1.2", f"block {block} of space {number}")
                known = lambda node: node < self.graph.counters[objects] if objects else node in live or node in self.deleted
                need(all(known(node) for node in nodes), "R-9.4", "a row is of nothing")
                rows, before, blocks = rows + len(nodes), last, blocks + 1
                living += sum(objects is not None or node in live for node in nodes)
            need((rows, living) == (space["rows"], space["live"]), "R-8.1.2", f"space {number} has {rows}, {living} rows")
        need(blocks == len(self.rows["vectors"]), "R-9.5", "blocks are of no space")
        for key, payload in self.rows["contexts"].items():
            space, document = struct.unpack(">II", key)
            need(space in self.spaces and document in self.documents, "R-9.5", f"norms of document {document}")
            need(len(payload) >= 8, "R-8.3.1", "norms are cut short")
            leaves, sections = struct.unpack_from("<II", payload)
            need(len(payload) == 8 + 4 * (leaves + sections), "R-8.3.1", f"{leaves} and {sections} norms")
            norms = struct.unpack_from(f"<{leaves + sections}f", payload, 8)
            need(all(0 <= norm < float("inf") for norm in norms), "R-8.3.1", "a norm is no length")
            record = self.documents[document][0]
            inner = record["nodes"] - record["leaves"]
            need((leaves, sections) == (record["leaves"], inner), "R-8.3.2", f"norms of document {document}")

    def read_block(self, number, block, space, full):
        payload = self.get("vectors", u32_key(number, block), "R-8.1.2")
        need(len(payload) >= 48, "R-8.2.1", "a block is short")
        head = struct.unpack_from("<IIQBBHIIIf", payload)
        in_space, own, generation, element, metric, _, d, n, capacity, bound = head
        need((in_space, own, element, metric, d) == (number, block, 1, space["metric"], space["dimension"])
             and capacity == 262_064 // (4 * d + 4) and (n == capacity if full else 1 <= n <= capacity)
             and generation < space["generation"] and 0 <= bound < float("inf"), "R-8.2.2", f"a header: {head}")
        need(len(payload) == 48 + 4 * n * d + 4 * n, "R-8.2.1", f"{n} rows in {len(payload)} bytes")
        for row in range(n):
            floats = struct.unpack_from(f"<{d}f", payload, 48 + 4 * d * row)
            length = sum(x * x for x in floats) ** 0.5
            need(length <= bound and (metric != 1 or length == 0 or abs(length - 1) < 1e-5), "R-8.2.2",
                 f"row {row} has length {length}, the bound is {bound}")
        nodes = struct.unpack_from(f"<{n}I", payload, 48 + 4 * n * d)
        need(all(a < b for a, b in zip(nodes, nodes[1:])), "R-8.1.2", "nodes do not ascend")
        return nodes

    def dump(self, out):
        """Appendix D."""
        def line(**fields):
            text = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            out.write(text.encode() + b"\n")

        identity, counters = self.identity, self.counters
        line(type="file",
             **{name: identity[name] for name in ("format_version", "read_features", "write_features", "token_counter",
                                                  "analyzer", "sealed")},
             **{name: counters[name] for name in ("documents", "nodes", "leaves", "leaf_tokens")})
        for number, (record, nodes, text) in self.documents.items():
            line(type="document", id=number, attributes=dict(record["attributes"]),
                 content_hash=record["content_hash"].hex(), text=text,
                 nodes=[{**node, "kind": KINDS[node["kind"]]} for node in nodes],
                 **{name: record[name] for name in ("key", "title", "source", "language", "tokens")})
        self.graph.dump(line)

    def nodes_with(self, term):
        """Live nodes whose own text has the term, with its positions there, ascending."""
        out = []
        for segment in self.segments:
            value = segment.fst.get(b"t" + term.encode())
            if value is not None:
                for postings, records in zip(segment.entry(value, True)[0], (segment.leaves, segment.inner)):
                    out += [(records[ordinal][0], positions) for ordinal, positions in postings]
        return sorted((node, positions) for node, positions in out if node not in self.deleted)


def main(arguments):
    term = None
    if "--term" in arguments:
        at = arguments.index("--term")
        term = arguments[at + 1]
        del arguments[at:at + 2]
    try:
        if arguments:
            with open(arguments[0], encoding="utf-8") as lines:
                file = File(lines)
        else:
            file = File(sys.stdin)
    except Damage as damage:
        print(f"damaged: {damage}", file=sys.stderr)
        return 1
    if term is None:
        file.dump(sys.stdout.buffer)
    else:
        for node, positions in file.nodes_with(term):
            print(node, *positions)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
