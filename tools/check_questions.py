#!/usr/bin/env python3
"""Check the prepared questions of the demo corpus against its documents.

For every line of examples/questions.jsonl and examples/questions-more.jsonl:
the documents exist, the headings exist in them, and every part of the answer
(parts are separated by "; ", for lines without `answer` by the `answer:` part
of the note) occurs in one of the named sections, and every named section holds a part.
Licence: MIT OR Apache-2.0, like the project.  Standard library only.
"""
import json
import sys
from pathlib import Path


def section(path, heading):
    """Text of a section with its subsections, or None when there is no such heading."""
    found, level, out = False, 0, []
    for line in path.read_text("utf-8").splitlines():
        depth = len(line) - len(line.lstrip("#")) if line.startswith("#") else 0
        if found and depth and depth <= level:
            break
        if depth and line[depth:].strip() == heading:
            found, level = True, depth
        elif found:
            out.append(line)
    return "\n".join(out) if found else None


def main():
    root, bad, seen = Path("examples"), 0, set()
    for name in ("questions.jsonl", "questions-more.jsonl"):
        for number, line in enumerate((root / name).read_text("utf-8").splitlines(), 1):
            q = json.loads(line)
            answer = q.get("answer") or q["note"].partition("answer: ")[2]
            texts = [section(root / "data" / g["document"], g["heading"]) for g in q["gold"]]
            parts = answer.split("; ")
            wrong = [p for p in parts if not any(p in (t or "") for t in texts)]
            idle = [t for t in texts if not any(p in (t or "") for p in parts)]
            if not answer or None in texts or wrong or q["id"] in seen or idle:
                bad += 1
                print(f"{name}:{number}: {q['id']}: not found: {wrong or 'heading or id'}")
            seen.add(q["id"])
    print(f"{len(seen)} questions, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
