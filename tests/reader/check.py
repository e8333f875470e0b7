#!/usr/bin/env python3
"""Runs the second reader over the golden files and compares its dumps with those beside them.

    python3 tests/reader/check.py [PROGRAM]

PROGRAM writes the raw rows of a file; by default the first of these that was built: `target/*/evdb`, asked as
`evdb dump --raw FILE`, or `target/*/examples/make_golden`, asked as `make_golden --raw FILE`.

Besides the dumps it checks some terms' postings, and that damage is noticed: a bit of each value in turn is changed.
Damage behind a right checksum, as a stranger would make it, must be read or reported, never end the reader otherwise.
"""

import contextlib
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import zlib

import evdb_reader

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "data" / "golden"

# Term, and the first nodes whose own text has it, each with its positions there.
TERMS = {
    "v1/one": {"two": [(2, [1])], "t": [], "one": [(2, [0])], "three": []},
    "v1/mixed": {"北京": [(29, [0])], "twice": [], "three": [(37, [4])], "launch": [(46, [0])]},
    "v1/ledger": {"quarter": [(2 + 51 * i, [0]) for i in range(8)], "7": [(10, [1, 5]), (19, [5]), (28, [5])]},
    "v1/merged": {"extra": [], "common": [(2 * i, [n]) for i, n in zip((1, 3, 4, 5, 6, 7, 8, 9, 10), range(36, 3, -4))]},
    # Sections are 2, 36, 70, ...; "salt" is in their titles and in each leaf, "tenth" in the leaves 3, 13, ...
    "v1/kinds": {
        "salt": [(2, [1]), (3, [0]), (4, [0]), (5, [0]), (6, [0]), (7, [0]), (8, [0]), (9, [0]), (10, list(range(17)))],
        "tenth": [(3, [1]), (13, [1]), (23, [1]), (33, [1]), (44, list(range(1, 16)))],
        "seldom": [(3, [2]), (37, [1]), (71, [1])],
        "often": [(4_000, list(range(2, 16)))],
    },
}


def programs():
    for profile in ("debug", "release"):
        for path, words in ((ROOT / "target" / profile / "evdb", ["dump", "--raw"]),
                            (ROOT / "target" / profile / "examples" / "make_golden", ["--raw"])):
            if path.exists():
                yield [str(path), *words]


def raw_rows(program, file):
    """The lines of `file`; None if the program cannot do that."""
    done = subprocess.run([*program, str(file)], capture_output=True, check=False)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines if done.returncode == 0 and lines else None


def raw_rows_of(file, given):
    for program in [given] if given else programs():
        lines = raw_rows(program, file)
        if lines is not None:
            return lines
    raise LookupError("no program writes its raw rows; run `cargo build` or `cargo build --example make_golden`")


def noticed(lines, at):
    """Whether the reader notices one changed bit in the value of row `at`."""
    row = json.loads(lines[at])
    value = bytearray.fromhex(row["value"])
    value[(at * 7919) % len(value)] ^= 1 << at % 8
    row["value"] = value.hex()
    try:
        evdb_reader.File([*lines[:at], json.dumps(row), *lines[at + 1:]])
    except evdb_reader.Damage:
        return True
    return False


def forged(lines, dice):
    """The rows with some bytes of one payload changed, and its checksum made right again."""
    at = dice.randrange(len(lines))
    row = json.loads(lines[at])
    key, value = bytes.fromhex(row["key"]), bytearray.fromhex(row["value"])
    for _ in range(dice.choice((1, 1, 2))):
        place = dice.randrange(16, len(value))
        value[place] = dice.choice((0, 255, value[place] ^ 1, value[place] ^ 128, dice.randrange(256)))
    payload = value[16:16 + struct.unpack_from("<I", value, 8)[0]]
    covered = row["table"].encode() + b"\0" + key + value[:12] + payload
    struct.pack_into("<I", value, 12, zlib.crc32(covered))
    return [*lines[:at], json.dumps({**row, "value": value.hex()}), *lines[at + 1:]]


def survives(lines, seed):
    with contextlib.suppress(evdb_reader.Damage), contextlib.redirect_stderr(io.StringIO()):
        evdb_reader.File(forged(lines, random.Random(seed)))


def check(file, given):
    """What is wrong with `file`, as texts; and how many things were looked at."""
    name = str(file.relative_to(GOLDEN).with_suffix("")).replace(os.sep, "/")
    try:
        lines = raw_rows_of(file, given)
    except LookupError as missing:
        return [f"{name}: {missing}"]
    results = []
    try:
        read, out = evdb_reader.File(lines), io.BytesIO()
        read.dump(out)
        same = out.getvalue() == file.with_suffix(".json").read_bytes()
        results.append(None if same else f"{name}: the dump is another")
        for term, expected in TERMS.get(name, {}).items():
            found = read.nodes_with(term)[:len(expected) or 1]
            results.append(None if found == expected else f"{name}: {term!r} is in {found}, not in {expected}")
    except evdb_reader.Damage as damage:
        results.append(f"{name}: {damage}")
    missed = [at for at in range(len(lines)) if not noticed(lines, at)]
    results.append(f"{name}: damage to rows {missed} is not noticed" if missed else None)
    for seed in range(200 if sum(map(len, lines)) < 1 << 19 else 5 if len(lines) < 100 else 0):
        try:
            survives(lines, seed)
        except Exception as error:  # whatever it is, it is a fault of the reader
            results.append(f"{name}: forged rows {seed}: {error!r}")
            break
    else:
        results.append(None)
    return results


def main():
    given = [sys.argv[1], "dump", "--raw"] if len(sys.argv) > 1 else None
    if given and "make_golden" in pathlib.Path(sys.argv[1]).name:
        given = [sys.argv[1], "--raw"]
    files = sorted(GOLDEN.glob("*/*.evdb"))
    results = [result for file in files for result in check(file, given)]
    wrong = [result for result in results if result]
    for result in wrong:
        print(result)
    if not files:
        print("there are no golden files")
    print(f"{len(results) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
