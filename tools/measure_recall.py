#!/usr/bin/env python3
"""Recall of evdb on question sets with gold passages, as Markdown tables.

    python3 tools/measure_recall.py --data DIR [--evdb target/release/evdb] [--leaf-vectors DIR] [--sets a,b]

DIR holds sets as of question_sets.py. None of it is part of this project. --leaf-vectors names a folder of
SET.npy with one row a leaf (see `evdb outline --leaves --json`).

Tables: recall of gold passages in the first k (text, dense, hybrid), recall of evidence packed under budgets with
given vectors, the same with the built-in embedder. Only questions with gold evidence are asked; of MMLongBench-Doc
those whose evidence is text, of LoCoMo all but the adversarial ones. Standard library only.
"""
import argparse
import os
import sys
import tempfile

from question_sets import find, first_ids, json_lines, lines, run

# Sets whose questions are also asked within their own document.
IN_DOCUMENT = ("locomo", "mmlongbench-doc", "financebench")
BUDGETS = (512, 1024, 2048, 4096)


class Runner:
    def __init__(self, evdb):
        self.evdb = evdb

    def run(self, *args):
        return run(self.evdb, *args)[0]

    def json_lines(self, *args):
        return json_lines(self.run(*args, "--json"))


def wanted(question):
    return (
        question.get("gold")
        and question.get("text_only", True)
        and question.get("type") != "adversarial"
    )


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def recall(found, gold):
    return len(found & gold) / len(gold)


def search_rows(runner, file, folder, questions, vectors, in_doc):
    """Recall@5 and @10 by text, dense and hybrid."""
    row = []
    for mode in ("text", "dense", "hybrid"):
        args = ["search", file, "--questions", find(folder, "questions"), "--mode", mode, "-k", 60]
        if mode != "text" and vectors:
            args += ["--question-vectors", vectors]
        if in_doc:
            args.append("--in-doc")
        answers = runner.json_lines(*args)
        assert len(answers) == len(questions), (len(answers), len(questions))
        for k in (5, 10):
            pairs = [(a, q) for a, q in zip(answers, questions) if wanted(q)]
            row.append(
                mean(
                    recall(set(first_ids([h["id"] for h in a["hits"]], k)), set(map(str, q["gold"])))
                    for a, q in pairs
                )
            )
    return row


def ask_row(runner, file, folder, questions, vectors, in_doc, extra=()):
    """Share of gold passages packed at each budget, their mean, and recall@5 and @10 of the ranking."""
    args = ["ask", file, "--questions", find(folder, "questions"), "--headings", "none", *extra]
    for budget in BUDGETS:
        args += ["--budget", budget]
    if vectors:
        args += ["--question-vectors", vectors]
    if in_doc:
        args.append("--in-doc")
    answers = runner.json_lines(*args)
    assert len(answers) == len(questions) * len(BUDGETS)
    packed = {budget: [] for budget in BUDGETS}
    first = {5: [], 10: []}
    for at, question in enumerate(questions):
        if not wanted(question):
            continue
        gold = set(map(str, question["gold"]))
        for answer in answers[at * len(BUDGETS):(at + 1) * len(BUDGETS)]:
            assert answer["spent"] <= answer["budget"]
            packed[answer["budget"]].append(recall({item["id"] for item in answer["items"]}, gold))
            if answer["budget"] == BUDGETS[-1]:
                for k in first:
                    first[k].append(recall(set(first_ids([r[0] for r in answer["ranking"]], k)), gold))
    means = [mean(packed[budget]) for budget in BUDGETS]
    return means + [mean(means), mean(first[5]), mean(first[10])], len(first[5])


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for name, row in rows:
        cells = [cell if isinstance(cell, str) else f"{cell:.3f}".lstrip("0") if cell < 1 else "1.000" for cell in row]
        print("| " + " | ".join([name, *cells]) + " |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--evdb", default="target/release/evdb")
    parser.add_argument("--leaf-vectors")
    parser.add_argument("--sets", help="comma-separated; all by default")
    options = parser.parse_args()
    runner = Runner(options.evdb)
    sets = sorted(name for name in os.listdir(options.data) if find(os.path.join(options.data, name), "questions"))
    if options.sets:
        sets = options.sets.split(",")
    found = {"plain": [], "search": [], "given": [], "static": []}
    with tempfile.TemporaryDirectory() as work:
        for name in sets:
            folder = os.path.join(options.data, name)
            passages, questions = find(folder, "passages"), lines(find(folder, "questions"))
            given = os.path.join(folder, "passages.f16.npy")
            asked = os.path.join(folder, "questions.f16.npy")
            scopes = [("all", False)] + ([("in document", True)] if name in IN_DOCUMENT else [])
            count = ["--token-counter", "wordpiece"]
            file = os.path.join(work, f"{name}.evdb")
            runner.run("build", passages, "-o", file, "--vectors", given, *count)
            plain = os.path.join(work, f"{name}.plain.evdb")
            runner.run("build", passages, "-o", plain, "--no-embed", "--plain", *count)
            static = os.path.join(work, f"{name}.static.evdb")
            runner.run("build", passages, "-o", static, *count)
            leaf = os.path.join(options.leaf_vectors or "", f"{name}.npy")
            for scope, in_doc in scopes:
                label = f"{name}, {scope}" if len(scopes) > 1 else name
                args = ["search", plain, "--questions", find(folder, "questions"), "--mode", "text", "-k", 60]
                answers = runner.json_lines(*args, *(["--in-doc"] if in_doc else []))
                bm25 = []
                for k in (5, 10):
                    bm25.append(
                        mean(
                            recall(set(first_ids([h["id"] for h in a["hits"]], k)), set(map(str, q["gold"])))
                            for a, q in zip(answers, questions)
                            if wanted(q)
                        )
                    )
                found["search"].append((label, bm25 + search_rows(runner, file, folder, questions, asked, in_doc)))
                row, n = ask_row(runner, file, folder, questions, asked, in_doc)
                found["given"].append((label, [str(n), *row]))
                if options.leaf_vectors and os.path.exists(leaf):
                    by_leaf = os.path.join(work, f"{name}.leaf.evdb")
                    if not os.path.exists(by_leaf):
                        runner.run("build", passages, "-o", by_leaf, "--leaf-vectors", leaf, *count)
                    row, n = ask_row(runner, by_leaf, folder, questions, asked, in_doc)
                    found["given"].append((f"{label}, a vector a leaf", [str(n), *row]))
                row, n = ask_row(runner, static, folder, questions, None, in_doc)
                found["static"].append((label, [str(n), *row]))
                print(f"{label} done", file=sys.stderr, flush=True)
    print("### Gold passages among the first k\n")
    head = ["set"] + [f"{mode} @{k}" for mode in ("BM25 plain", "text", "dense", "hybrid") for k in (5, 10)]
    table(head, found["search"])
    head = ["set", "questions", *map(str, BUDGETS), "mean", "R@5", "R@10"]
    print("### Gold passages packed under a budget, given vectors\n")
    table(head, found["given"])
    print("### The same with the built-in static embedder\n")
    table(head, found["static"])


if __name__ == "__main__":
    main()
