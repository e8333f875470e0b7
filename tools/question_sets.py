"""Question sets with gold passages, as the tools beside this file read them. Standard library only.

A set is a folder with passages.jsonl[.gz] (id, doc, title, text, ...), questions.jsonl[.gz] (id, question, gold = ids of
the labelled passages), passages.f16.npy and questions.f16.npy (row i = line i).
"""
import gzip
import json
import os
import struct
import subprocess
import sys


def lines(path):
    open_it = gzip.open if path.endswith(".gz") else open
    with open_it(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def find(folder, stem):
    """The file of passages or questions of a set; None without one."""
    for name in (stem + ".jsonl.gz", stem + ".jsonl"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def run(*args):
    """What a program wrote to its output and its error output; ends this one if it failed. 4 is: nothing found."""
    done = subprocess.run([str(arg) for arg in args], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(map(str, args))}\n{done.stderr}")
    return done.stdout, done.stderr


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def first_ids(ids, k):
    """The first k of the distinct ids, in order."""
    return list(dict.fromkeys(ids))[:k]


def matrix(path):
    """The rows of a two-dimensional .npy of float16 or float32."""
    with open(path, "rb") as file:
        head = file.read(10)
        size = struct.unpack("<H", head[8:10])[0]
        header = file.read(size).decode("latin1")
        code, width = ("e", 2) if "<f2" in header else ("f", 4)
        shape = header.split("(")[1].split(")")[0].split(",")
        columns = int(shape[1])
        data = file.read()
    row = struct.Struct(f"<{columns}{code}")
    return [row.unpack_from(data, at) for at in range(0, len(data), columns * width)]
