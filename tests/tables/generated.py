"""Tables as people send them, made by chance: the same seed gives the same table, on every machine."""

import csv

import numpy as np

from siis.tables import Roles

MARKS = ("?", "-", "--", ".", "*", "unknown", "missing", "#N/A", "<NA>", "", "NA", "null", "n.a.")
CLASSES = ("cat", "dog", "New York", "café", "high risk", "ok", "B+", "x-ray", "12-18", "zzz", "Q", "no answer yet")
WORDS = (
    "late refund broken screen cracked battery",
    "invoice payment card charged twice bank",
    "login password reset account locked email",
    "delivery courier parcel lost address street",
)
NAMES = ("Anna", "Björn", "Chidi", "Dolores", "Eve", "Farid", "Grace", "Hiro", "Ines", "João", "Kofi", "Li")
FEW = ("red", "green", "blue", "light grey", "n/k")
LETTERS = [chr(65 + k) for k in range(26)]
NO_LABEL = ("", "NA", "-1", "?", "unknown", "TODO")


def make_table(seed):
    """The columns as a CSV file would hold them, the column of labels, and roles for ``siis.tables.read``."""
    rng = np.random.default_rng([20240229, seed])
    n = int(np.exp(rng.uniform(np.log(20), np.log(401))))
    n_classes = int(rng.integers(2, 13)) if n >= 60 else int(rng.integers(2, 5))
    truth = _truth(rng, n, n_classes)
    place = rng.normal(size=(n_classes, 3))[truth] * rng.choice([1.0, 2.0, 4.0]) + rng.normal(size=(n, 3))
    columns = {"size": _gaps(rng, _numbers(rng, place), 0.0)}  # one column that every reader can use
    for k in range(int(rng.integers(0, 9))):
        name = list(MAKERS)[int(rng.integers(len(MAKERS)))]
        cells = MAKERS[name](rng, n, place, truth)
        columns[f"{name} {k}"] = _gaps(rng, cells, float(rng.choice([0.0, 0.0, 0.01, 0.1, 0.4])))
    roles = {"label": "label"}
    if rng.random() < 0.25:
        columns["remark"] = _prose(rng, truth)
        if rng.random() < 0.6:
            roles["text"] = "remark"
    if rng.random() < 0.4:
        columns["id"] = [f"{'AB'[i % 2]}{i:04d}" for i in rng.permutation(n)]
        if rng.random() < 0.7:
            roles["id"] = "id"
    columns["label"] = _labels(rng, truth, n_classes)
    if "text" in roles:
        roles["text_only"] = bool(rng.random() < 0.3)
    if rng.random() < 0.5:
        roles |= {"unlabelled": ("?", "unknown", "TODO"), "merge_classes": True}
    _repeat(rng, columns, roles.get("id"))
    order = rng.permutation(list(columns)).tolist()
    return {name: columns[name] for name in order}, "label", Roles(**roles)


def write_table(path, columns):
    """Write a table as CSV, or as TSV where the name says so; returns its path."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def _truth(rng, n, n_classes):
    """Classes of very different or equal sizes; each has an example."""
    shares = rng.dirichlet(np.full(n_classes, rng.choice([0.7, 5.0, 1000.0])))
    truth = rng.choice(n_classes, size=n, p=shares)
    truth[rng.permutation(n)[:n_classes]] = np.arange(n_classes)
    return truth


def _labels(rng, truth, n_classes):
    """Some are wrong, many are absent; each class keeps one, so that a fit is possible."""
    n = truth.size
    given = truth.copy()
    wrong = rng.random(n) < rng.choice([0.0, 0.1, 0.3])
    given[wrong] = rng.integers(n_classes, size=int(np.count_nonzero(wrong)))
    labelled = rng.random(n) < rng.choice([0.05, 0.2, 0.5, 1.0])
    for c in range(n_classes):
        kept = rng.choice(np.flatnonzero(truth == c))
        given[kept], labelled[kept] = c, True
    style = rng.choice(["numbers", "words", "variants"])
    names = [str(c) for c in range(n_classes)] if style == "numbers" else rng.permutation(CLASSES)[:n_classes]
    cells = [str(names[c]) for c in given]
    if style == "variants":
        spell = (str, str, str, str.upper, str.title, lambda name: f"{name} ")
        cells = [spell[int(rng.integers(len(spell)))](name) for name in cells]
    blank = str(rng.choice(NO_LABEL))
    return [cell if is_labelled else blank for cell, is_labelled in zip(cells, labelled, strict=True)]


def _gaps(rng, cells, share):
    """Empty some cells with one or two marks, as one person would."""
    marks = rng.choice(MARKS, size=2)
    return [str(marks[int(rng.random() < 0.2)]) if rng.random() < share else str(cell) for cell in cells]


def _repeat(rng, columns, id):
    """Overwrite a few rows with others, exactly or almost: duplicates."""
    n = len(columns["label"])
    if rng.random() < 0.6:
        return
    for i, j in rng.integers(n, size=(max(n // 10, 1), 2)):
        for name in columns:
            if name not in (id, "label") and rng.random() < 0.97:
                columns[name][i] = columns[name][j]


def _numbers(rng, place):
    mixed = place @ rng.normal(size=place.shape[1])
    return [f"{value:.4g}" for value in mixed * 10.0 ** rng.integers(-3, 5) + rng.normal()]


def _with(numbers, unit):
    return [f"{value:.1f}{unit}" for value in numbers]


def _money(rng, n, place, truth):
    style = int(rng.integers(5))
    cells = []
    for value in np.round(900 * np.exp(place[:, 2] / 2), 2):
        amount = f"{value:,.2f}"
        european = amount.translate(str.maketrans(",.", ".,"))
        debit = f"(${amount})" if value < 500 else f"${amount}"
        cells.append((f"${amount}", f"{european} €", f"USD {amount}", f"€{value:.0f}", debit)[style])
    return cells


def _days(rng, place):
    return np.datetime64("2019-03-01") + np.round(200 * place[:, 0] + rng.normal(size=len(place)) * 30).astype(int)


def _date(rng, n, place, truth):
    style = int(rng.integers(5))
    cells = []
    for day in _days(rng, place):
        year, month, date = str(day).split("-")
        numbers = (f"{year}-{month}-{date}", f"{month}/{date}/{year}", f"{date}.{month}.{year}")
        forms = (*numbers, f"{date}/{month}/{year}")
        cells.append((*forms, f"{int(date)} {'JFMAMJJASOND'[int(month) - 1]}")[style])
    return cells


def _stamp(rng, n, place, truth):
    seconds = rng.integers(86400, size=n)
    joint = str(rng.choice([" ", "T"]))
    end = str(rng.choice(["", "Z", "+02:00"])) if joint == "T" else ""
    return [
        f"{day}{joint}{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}{end}"
        for day, s in zip(_days(rng, place), seconds, strict=True)
    ]


def _many(rng, n, place, truth):
    """Codes of which few are frequent and most stand once or twice."""
    codes = np.minimum(rng.zipf(1.3, size=n), 10 * n) + 10_000 * (truth % 3)
    return [f"P-{code}" for code in codes]


def _truth_value(rng, n, place, truth):
    yes, no = [("yes", "no"), ("TRUE", "FALSE"), ("Y", "N"), ("t", "f"), ("1", "0")][int(rng.integers(5))]
    return [yes if value > 0 else no for value in place[:, 0]]


def _prose(rng, truth):
    return [" ".join(rng.choice(WORDS[int(c) % 4].split(), int(rng.integers(1, 9)))) + "!" for c in truth]


MAKERS = {
    "number": lambda rng, n, place, truth: _numbers(rng, place),
    "integer": lambda rng, n, place, truth: [str(int(value)) for value in np.round(20 + 6 * place[:, 0])],
    "money": _money,
    "percent": lambda rng, n, place, truth: _with(50 + 15 * place[:, 0], rng.choice(["%", " %"])),
    "thousands": lambda rng, n, place, truth: [f"{int(value):,}" for value in 5000 * np.exp(place[:, 1])],
    "unit": lambda rng, n, place, truth: _with(60 + 12 * place[:, 2], rng.choice([" kg", "cm", " m/s", "°C"])),
    "date": _date,
    "stamp": _stamp,
    "few": lambda rng, n, place, truth: [FEW[int((c + (rng.random() < 0.3)) % len(FEW))] for c in truth],
    "many": _many,
    "truth_value": _truth_value,
    "constant": lambda rng, n, place, truth: [str(rng.choice(["2024", "EU", "0"]))] * n,
    "counter": lambda rng, n, place, truth: [str(i) for i in range(int(rng.integers(2)), n + 2)][:n],
    "name": lambda rng, n, place, truth: [
        f"{NAMES[int(rng.integers(12))]} {LETTERS[rng.integers(26)]}. no {i}" for i in range(n)
    ],
    "skewed": lambda rng, n, place, truth: [f"{np.exp(2 * value):.6g}" for value in place[:, 1]],
    "nothing": lambda rng, n, place, truth: [""] * n,
    # numbers and words in one column, half and half
    "odd": lambda rng, n, place, truth: [
        f"{value:.2f}" if rng.random() < 0.5 else str(rng.choice(["low", "high"])) for value in place[:, 0]
    ],
}
