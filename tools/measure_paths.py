#!/usr/bin/env python3
"""Recall of multi-hop retrieval, as a Markdown table.

    cargo build --release --bin evdb --example find_paths
    python3 tools/measure_paths.py --data DIR [--bin target/release] [--sets a,b] [--sentence-vectors DIR2]
        [--name-vectors DIR3] [--option name=value]...

DIR holds one folder a set: passages.jsonl[.gz] (id, doc, title, text), questions.jsonl[.gz] (id, question, gold = ids
of the labelled passages), passages.f16.npy and questions.f16.npy (row i = line i). None of it is part of this project.
DIR2 holds SET.npy, a row a line of `find_paths FILE --sentences`, made by the model of the other vectors. DIR3 holds
SET.txt, a name a line, and SET.npy, its vector a row; with it the test with phantom pages is run: every name in the
ten anchors' sentences that has no page gets one, which no other name shares, scored as a leaf is scored. Cells: share of gold passages among the
first 2, 5, 10, and of questions with all of them among the first 5, in percent. Standard library only.
"""
import argparse
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile

SETS = ("hotpotqa", "musique", "2wikimultihopqa")


def lines(path):
    open_it = gzip.open if path.endswith(".gz") else open
    with open_it(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def find(folder, stem):
    for name in (stem + ".jsonl.gz", stem + ".jsonl"):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def run(*args):
    done = subprocess.run([str(arg) for arg in args], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(map(str, args))}\n{done.stderr}")
    return done.stdout, done.stderr


def answers_of(*args):
    out, said = run(*args)
    return [json.loads(line) for line in out.splitlines()], said


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


def distinct(ids, k):
    found = []
    for i in ids:
        if i not in found:
            found.append(i)
        if len(found) == k:
            break
    return found


def scores(ranked, questions):
    """R@2, R@5, R@10, all@5 in percent."""
    sums = [0.0] * 4
    for ids, question in zip(ranked, questions):
        gold = set(map(str, question["gold"]))
        first = distinct(ids, 10)
        for at, k in enumerate((2, 5, 10)):
            sums[at] += len(gold & set(first[:k])) / len(gold)
        sums[3] += gold <= set(first[:5])
    return [100 * s / len(questions) for s in sums]


def unit(row):
    norm = sum(x * x for x in row) ** 0.5
    return [x / norm for x in row] if norm else row


def with_phantoms(answer, question, vectors):
    """The ids of the hits, and `None` for each phantom page, by score."""
    best = {}
    for name, strength, similarity, asked in answer["names"]:
        close = max(0.0, sum(a * b for a, b in zip(vectors[name], question)))
        gain = strength**3 * (max(0.0, similarity) + 0.15) * 0.75 * (0.25 if asked else 1)
        best[name] = max(best.get(name, 0.0), gain + 0.6 * close + (0.2 if asked else 0))
    rows = [(hit["hit"]["score"], hit["id"]) for hit in answer["hits"]]
    rows += [(score, f"phantom {name}") for name, score in best.items()]
    return [i for _, i in sorted(rows, key=lambda row: -row[0])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--bin", default="target/release")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--sentence-vectors")
    parser.add_argument("--name-vectors")
    parser.add_argument("--option", action="append", default=[], help="an option of find_paths, for all rows")
    parser.add_argument("--keep", help="a folder in which files are built, or found if they are there")
    options = parser.parse_args()
    evdb, paths = os.path.join(options.bin, "evdb"), os.path.join(options.bin, "examples", "find_paths")
    extra = [part for option in options.option for part in ("--" + option.split("=")[0], option.split("=")[1])]
    rows = {}
    with tempfile.TemporaryDirectory() as work:
        for name in options.sets.split(","):
            folder = os.path.join(options.data, name)
            passages, questions = find(folder, "passages"), lines(find(folder, "questions"))
            asked = os.path.join(folder, "questions.f16.npy")
            plain_questions = os.path.join(work, f"{name}.questions.jsonl")
            with open(plain_questions, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"question": q["question"]}) + "\n" for q in questions)
            given = ["--vectors", os.path.join(folder, "passages.f16.npy")]
            for analyzer, flags in (("", []), (", plain analyzer", ["--plain"])):
                file = os.path.join(options.keep or work, f"{name}{'.plain' if flags else ''}.evdb")
                if not os.path.exists(file):
                    run(evdb, "build", passages, "-o", file, "--names", "--token-counter", "wordpiece", *given, *flags)
                add = lambda row, ids: rows.setdefault(row, {}).update({name: scores(ids, questions)})
                for mode in ("text", "dense", "hybrid"):
                    if flags and mode == "dense":
                        continue
                    args = ["--mode", mode, "-k", 60, "--json"]
                    args += ["--question-vectors", asked] if mode != "text" else []
                    answers, _ = answers_of(evdb, "search", file, "--questions", find(folder, "questions"), *args)
                    add({"text": "BM25", "dense": "dense", "hybrid": "RRF"}[mode] + analyzer,
                        [[str(hit["id"]) for hit in answer["hits"]] for answer in answers])
                ids = lambda answers: [[hit["id"] for hit in answer["hits"]] for answer in answers]
                args = [paths, file, plain_questions, "--limit", 60, "--question-vectors", asked, *extra]
                vectors = os.path.join(options.sentence_vectors or "", f"{name}.npy")
                by_sentence = ["--sentence-vectors", vectors] if options.sentence_vectors else []
                add("BASE" + analyzer, ids(answers_of(*args, "--anchors", 0)[0]))
                for label, given_vectors in (("", []), (" with sentence vectors", by_sentence)):
                    if label and (flags or not by_sentence):
                        continue
                    for hops in (2,) if label or flags else (2, 3):
                        more = ["--hops", hops, *given_vectors] + (["--names", "true"] if hops == 2 else [])
                        answers, said = answers_of(*args, *more)
                        row = f"PATH{label}{', 3 hops' if hops == 3 else ''}{analyzer}"
                        add(row, ids(answers))
                        print(name, row, said.strip().splitlines()[-1], file=sys.stderr, flush=True)
                        if hops == 2 and options.name_vectors:
                            stem = os.path.join(options.name_vectors, name)
                            with open(stem + ".txt", encoding="utf-8") as file_of_names:
                                names = file_of_names.read().splitlines()
                            known = {key: unit(row) for key, row in zip(names, matrix(stem + ".npy"))}
                            lists = [
                                with_phantoms(answer, unit(vector), known)
                                for answer, vector in zip(answers, matrix(asked))
                            ]
                            add(f"PATH{label} with phantoms{analyzer}", lists)
                if flags:
                    continue
                add("BASE, no vectors", ids(answers_of(paths, file, plain_questions, "--limit", 60, "--anchors", 0, *extra)[0]))
                add("PATH, no vectors", ids(answers_of(paths, file, plain_questions, "--limit", 60, *extra)[0]))
    sets = options.sets.split(",")
    print("| method | " + " | ".join(sets) + " | mean R@5 / all@5 |")
    print("|" + "---|" * (len(sets) + 2))
    for row, by_set in rows.items():
        cells = [" / ".join(f"{x:.1f}" for x in by_set[name]) for name in sets]
        mean = [sum(by_set[name][at] for name in sets) / len(sets) for at in (1, 3)]
        print(f"| {row} | " + " | ".join(cells) + f" | {mean[0]:.1f} / {mean[1]:.1f} |")


if __name__ == "__main__":
    main()
