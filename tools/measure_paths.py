#!/usr/bin/env python3
"""Recall of multi-hop retrieval, as a Markdown table.

    cargo build --release --bin evdb --example find_paths --example measure_multihop
    python3 tools/measure_paths.py --data DIR [--bin target/release] [--sets a,b] [--sentence-vectors DIR2]
        [--name-vectors DIR3] [--step-vectors DIR4] [--option name=value]...

DIR holds sets as of question_sets.py; questions of musique have `decomposition` (steps with `question`, `answer`, where
#1 stands for the first answer), those of 2wikimultihopqa `evidence_triples`. None of it is part of this project.
DIR2 holds SET.npy, a row a line of `find_paths FILE --sentences`, made by the model of the other vectors. DIR3 holds
SET.txt, a name a line, and SET.npy, its vector a row; with it the test with phantom pages is run: every name in the
ten anchors' sentences that has no page gets one, which no other name shares, scored as a leaf is scored. DIR4 holds
SET.npy, a row for each step with its answers bound, in the order of questions and steps. Cells: share of gold passages
among the first 2, 5, 10, and of questions with all of them among the first 5, in percent. Standard library only.
"""
import argparse
import json
import os
import sys
import tempfile

from question_sets import find, first_ids, json_lines, lines, matrix, run

SETS = ("hotpotqa", "musique", "2wikimultihopqa")
# What find_paths adds to a leaf and a path, as in its defaults.
DENSE, TITLE, LINK, CONSTANT, ANCHOR, ASKED = 0.6, 0.2, 0.75, 0.15, 3, 0.25


def scores(ranked, questions):
    """R@2, R@5, R@10, all@5 in percent."""
    assert len(ranked) == len(questions), (len(ranked), len(questions))
    sums = [0.0] * 4
    for ids, question in zip(ranked, questions):
        gold = set(map(str, question["gold"]))
        for at, k in enumerate((2, 5, 10)):
            sums[at] += len(gold & set(first_ids(ids, k))) / len(gold)
        sums[3] += gold <= set(first_ids(ids, 5))
    return [100 * s / len(questions) for s in sums]


def unit(row):
    norm = sum(x * x for x in row) ** 0.5
    return [x / norm for x in row] if norm else row


def with_phantoms(answer, question, vectors):
    """The ids of the hits, and a name of its own for each phantom page, by score."""
    best = {}
    for name, strength, similarity, asked in answer["names"]:
        close = max(0.0, sum(a * b for a, b in zip(vectors[name], question)))
        gain = strength**ANCHOR * (max(0.0, similarity) + CONSTANT) * LINK * (ASKED if asked else 1)
        best[name] = max(best.get(name, 0.0), gain + DENSE * close + (TITLE if asked else 0))
    rows = [(hit["hit"]["score"], hit["id"]) for hit in answer["hits"]]
    rows += [(score, f"phantom {name}") for name, score in best.items()]
    return [i for _, i in sorted(rows, key=lambda row: -row[0])]


def bound_steps(questions):
    """The steps of all questions, answers of earlier ones in their places."""
    for at, question in enumerate(questions):
        steps = question.get("decomposition", [])
        for step in steps:
            text = step["question"].replace(">>", " ")
            for number, earlier in enumerate(steps, 1):
                text = text.replace(f"#{number}", earlier["answer"])
            yield {"question": at, "text": text}


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


class Set:
    """One set and the rows measured on it."""

    def __init__(self, options, name, work):
        self.options, self.name = options, name
        self.folder = os.path.join(options.data, name)
        self.questions = lines(find(self.folder, "questions"))
        self.asked = os.path.join(self.folder, "questions.f16.npy")
        self.work, self.rows = work, {}
        texts = ({"question": question["question"]} for question in self.questions)
        self.plain = write(os.path.join(work, f"{name}.questions.jsonl"), texts)

    def add(self, row, ids):
        self.rows[row] = scores(ids, self.questions)

    def build(self, flags):
        file = os.path.join(self.options.keep or self.work, f"{self.name}{'.plain' if flags else ''}.evdb")
        if not os.path.exists(file):
            vectors = ["--vectors", os.path.join(self.folder, "passages.f16.npy")]
            passages = find(self.folder, "passages")
            count = ["--token-counter", "wordpiece"]
            run(self.program("evdb"), "build", passages, "-o", file, "--names", *count, *vectors, *flags)
        return file

    def program(self, *parts):
        return os.path.join(self.options.bin, *parts)

    def search(self, file):
        for mode, row in (("text", "BM25"), ("dense", "dense"), ("hybrid", "RRF")):
            args = ["--mode", mode, "-k", 60, "--json"]
            args += ["--question-vectors", self.asked] if mode != "text" else []
            out, _ = run(self.program("evdb"), "search", file, "--questions", find(self.folder, "questions"), *args)
            self.add(row, [[str(hit["id"]) for hit in answer["hits"]] for answer in json_lines(out)])

    def methods(self, file, only=(), mark=""):
        args = [self.program("examples", "measure_multihop"), file, self.plain, self.asked]
        triples = [triple for question in self.questions for triple in question.get("evidence_triples", [])]
        if triples and not only:
            rows = ({"subject": subject, "object": thing} for subject, _, thing in triples)
            args += ["--facts", write(os.path.join(self.work, f"{self.name}.facts.jsonl"), rows)]
        steps = list(bound_steps(self.questions))
        if steps and not only:
            args += ["--steps", write(os.path.join(self.work, f"{self.name}.steps.jsonl"), steps)]
            if self.options.step_vectors:
                args += ["--step-vectors", os.path.join(self.options.step_vectors, f"{self.name}.npy")]
        out, said = run(*args)
        lists = {}
        for line in json_lines(out):
            lists.setdefault(line["method"], []).append(line["ids"])
        for row, ids in lists.items():
            if not only or row in only:
                self.add(row + mark, ids)
        print(self.name + mark, said.strip().splitlines()[-1], file=sys.stderr, flush=True)

    def paths(self, row, file, *more, phantoms=False):
        extra = [part for option in self.options.option for part in ("--" + option.split("=")[0], option.split("=")[1])]
        out, _ = run(self.program("examples", "find_paths"), file, self.plain, "--limit", 60, *extra, *more)
        answers = json_lines(out)
        if not phantoms:
            self.add(row, [[hit["id"] for hit in answer["hits"]] for answer in answers])
            return
        stem = os.path.join(self.options.name_vectors, self.name)
        with open(stem + ".txt", encoding="utf-8") as file_of_names:
            names = file_of_names.read().splitlines()
        known = {name: unit(vector) for name, vector in zip(names, matrix(stem + ".npy"))}
        asked = map(unit, matrix(self.asked))
        self.add(row, [with_phantoms(answer, vector, known) for answer, vector in zip(answers, asked)])

    def measure(self):
        file, vectors = self.build([]), ["--question-vectors", self.asked]
        self.search(file)
        self.methods(file)
        if self.options.option:
            self.paths("PATH, " + ", ".join(self.options.option), file, *vectors)
        if self.options.sentence_vectors:
            rows = os.path.join(self.options.sentence_vectors, f"{self.name}.npy")
            self.paths("PATH with sentence vectors", file, *vectors, "--sentence-vectors", rows)
        if self.options.name_vectors:
            self.paths("PATH with phantoms", file, *vectors, "--names", "true", phantoms=True)
        self.paths("PATH, no vectors", file)
        only = ("BASE and KnowForge without expansion", "PATH", "PATH, 3 hops")
        self.methods(self.build(["--plain"]), only, ", plain analyzer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--bin", default="target/release")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--sentence-vectors")
    parser.add_argument("--name-vectors")
    parser.add_argument("--step-vectors")
    parser.add_argument("--option", action="append", default=[], help="an option of find_paths, for its rows")
    parser.add_argument("--keep", help="a folder in which files are built, or found if they are there")
    options = parser.parse_args()
    names = options.sets.split(",")
    by_set = {}
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            by_set[name] = Set(options, name, work)
            by_set[name].measure()
    rows = dict.fromkeys(row for name in names for row in by_set[name].rows)
    print("| method | " + " | ".join(names) + " | mean R@5 / all@5 |")
    print("|" + "---|" * (len(names) + 2))
    for row in rows:
        found = [by_set[name].rows.get(row) for name in names]
        cells = [" / ".join(f"{x:.1f}" for x in cell) if cell else "-" for cell in found]
        mean = "-"
        if all(found):
            mean = " / ".join(f"{sum(cell[at] for cell in found) / len(found):.1f}" for at in (1, 3))
        print(f"| {row} | " + " | ".join(cells) + f" | {mean} |")


if __name__ == "__main__":
    main()
