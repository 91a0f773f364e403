"""Model files with one thing changed, and what siis makes of them.

A mutation opens the format: JSON values, arrays, members, raw bytes. With ``fresh`` the digest is computed anew, as
an enemy would do; without, the old one stays, as in a file that was damaged.
"""

import copy
import io
import json
import tempfile
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cli_case import write_csv
from plain import PlainSIIS
from siis import SIISClassifier
from siis.app.explain import explain
from siis.app.merged_labels import merge_checked
from siis.app.options import FitOptions
from siis.app.outputs import checked_labels, output_files
from siis.app.run import fit_data, predict_file
from siis.saved import load_all, saved_bytes
from siis.saved.archive import DIGEST, STRUCTURE, digest
from siis.tables import Roles, read

FINE = ("refused", "same answers")  # of any mutation; with a digest to match also:
FINE_IF_FRESH = (*FINE, "other answers", "points out of reach", "other columns")
OTHER = (
    "a feature must be a column of the table"  # a sound model for another table: predict says which column it needs
)
UNFIT = (  # what predict says of examples so far from those of the model that distances drown in rounding
    "centre and scale X (as a dense array), or use metric='cosine'",
    "rescale X (for instance to unit variance)",
)


@dataclass(frozen=True, eq=False)
class Base:
    """A sound model file and new examples for it."""

    name: str
    content: bytes
    X: Any
    table: Path | None = None

    @cached_property
    def members(self):
        with zipfile.ZipFile(io.BytesIO(self.content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    @cached_property
    def answers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.siis"
            path.write_bytes(self.content)
            return _answers(load_all(path), self)


def bases(folder):
    """Small models of every kind: judged or plain, dense or sparse, on a ready-made graph, from tables and texts."""
    rng = np.random.default_rng(0)
    n = 60
    truth = np.arange(n) % 3
    X = rng.standard_normal((n, 4)) + 4 * np.eye(3, 4)[truth]
    y = np.where(np.arange(n) % 2, truth, -1)
    new = X[:7] * 1.01
    sparse = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    near = PlainSIIS(n_components=10).fit(X, y)
    W = sp.csr_array(near.graph_.weights[near.vertex_][:, near.vertex_])
    found = [
        Base("plain", saved_bytes(near), new),
        Base("plain, sparse", saved_bytes(PlainSIIS(n_components=10).fit(sparse, y)), sparse[:7]),
        Base("ready-made graph", saved_bytes(SIISClassifier(affinity="precomputed").fit(W, y)), W[:7]),
    ]
    colours, words = ("red", "green", "blue"), ("one two", "three four", "five six")
    rows = [
        (f"id {i}", f"class {k}" if i % 2 else "", *X[i], colours[k], f"{words[k]} word{i % 5}")
        for i, k in enumerate(truth)
    ]
    write_csv(folder / "in.csv", ["id", "label", "a", "b", "c", "d", "colour", "text"], rows)
    for name, more in (("table", {}), ("texts", {"text": "text"})):
        data = read(folder / "in.csv", Roles(label="label", id="id", **more))
        outcome = fit_data(
            data,
            merge_checked(data, {"id 3": "class 1"}),
            FitOptions("in.csv", Roles(id="id"), parameters={"random_state": 0}),
        )
        content = output_files(outcome)["model.siis"]
        found.append(Base(name, content, data.X[:7], folder / "in.csv"))
    return found


def mutated(base, seed, fresh):
    """The file with one thing changed, and what it was."""
    rng = np.random.default_rng(seed)
    content = base.content
    while content == base.content:
        change = MUTATIONS[rng.choice(len(MUTATIONS), p=SHARES)]
        members = dict(base.members)
        said = change(members, rng)
        if fresh and DIGEST in members and said != "digest":
            members[DIGEST] = digest(members.items()).encode()
        content = said if isinstance(said, bytes) else _zipped(members)
        if change is raw_bytes:
            content, said = _damaged(content, rng)
    return content, f"{change.__name__}: {'' if isinstance(said, bytes) else said}"


def _zipped(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, compression)
    return out.getvalue()


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _odd(rng, old):
    """A value that does not belong, of the kinds that break programs."""
    k = int(rng.integers(0, 200))
    values = [
        *(None, True, False, 0, -1, 1, k, 2**31, 2**40, -(2**63), 10**30, 10**400),
        *(0.0, -0.5, 1e-320, 1e-200, 1e155, 1e308, -1e308),
        *("", "x", "../x", "\ud800", "auto", "precomputed", "cosine", "sparse", [], [0], [k, k, k], {}),
        *({"float": "nan"}, {"float": "inf"}, {"float": "1e5"}, {"array": k}, {"array": -1}, {"array": 0.0}),
        *({"scalar": k}, {"list": []}, {"tuple": [0.5, 0.5]}, {"dict": {}}, {"table": {}}),
        *({"objects": [], "shape": [0]}, {"objects": ["a"], "shape": [10**30]}),
        {"objects": [], "shape": [0, 10**15]},
        {"csr": [k, k + 1, k + 2], "shape": [60, 60]},
        *({"part": "Graph", "fields": {}}, {"part": "Popen", "fields": {}}),
        {"part": "ExpectedAccuracy", "fields": {"mean": 0.5, "deviation": 1.0}},
        {"eval": "1"},
    ]
    if isinstance(old, int) and not isinstance(old, bool):
        values += [old + 1, old - 1, -old, 2 * old, float(old), str(old)] * 3
    if isinstance(old, float):
        values += [old * 2, -old, old * 1e100, old * 1e-100, int(old) if abs(old) < 1e18 else 0] * 3
    if isinstance(old, str):
        values += [old.upper(), f"{old} ", old[:-1], old * 1000] * 2
    if isinstance(old, list):
        values += [old[:-1], [*old, *old[-1:]], old[::-1]] * 3
    return values[rng.integers(len(values))]


def json_value(members, rng):
    """Replace a value of the JSON text."""
    content = json.loads(members[STRUCTURE])
    path = _some_path(content, rng)
    *parents, last = path
    old = _at(content, path)
    new = copy.deepcopy(_odd(rng, old))
    _at(content, parents)[last] = new
    members[STRUCTURE] = json.dumps(content).encode(errors="surrogatepass")
    return f"{'.'.join(map(str, path))} = {str(new)[:40]}"


def _some_path(content, rng):
    """Any value; those of large attributes, such as ids, less often each."""
    paths = [path for path in _paths(content) if path]
    sizes = Counter(path[:4] for path in paths)
    weights = np.array([sizes[path[:4]] ** -0.7 for path in paths])
    return paths[rng.choice(len(paths), p=weights / weights.sum())]


def _inner(content, rng):
    """A dictionary or list of the JSON text that is not empty, and a key of it."""
    paths = [path for path in _paths(content) if isinstance(_at(content, path), dict | list) and _at(content, path)]
    found = _at(content, paths[rng.integers(len(paths))])
    keys = list(found) if isinstance(found, dict) else range(len(found))
    return found, keys[rng.integers(len(keys))]


def json_structure(members, rng):
    """Drop, rename, repeat or exchange keys; nest deeply; twice the same key; numbers that are none."""
    content = json.loads(members[STRUCTURE])
    found, key = _inner(content, rng)
    kind = ["drop", "rename", "repeat", "exchange", "nest", "twice", "constant", "format"][rng.integers(8)]
    if kind == "drop":
        del found[key]
    elif kind == "rename" and isinstance(found, dict):
        found[["predict", "_rules", "fit", "__class__", "x", f"{key}_", "graph_"][rng.integers(7)]] = found.pop(key)
    elif kind == "repeat" and isinstance(found, list):
        found.insert(key, copy.deepcopy(found[key]))
    elif kind == "exchange":
        other, second = _inner(content, rng)
        found[key], other[second] = copy.deepcopy(other[second]), copy.deepcopy(found[key])
    elif kind == "format":
        content["format"] = [0, 1, 3, 99, -1, "2", 2.0, True, None, [2], 10**30][rng.integers(11)]
    text = json.dumps(content)
    if kind == "nest":
        found[key] = "@"
        depth = int(rng.choice([10, 500, 3000, 100_000]))
        opening, closing = [("[", "]"), ('{"list": [', "]}"), ('{"dict": {"a": ', "}}")][rng.integers(3)]
        text = json.dumps(content).replace('"@"', opening * depth + "0" + closing * depth, 1)
    if kind == "twice":
        text = text[:-1] + f', "{key}": 5' + "}"
    if kind == "constant":
        found[key] = "@"
        text = json.dumps(content).replace('"@"', ["NaN", "Infinity", "1e999", "9" * 5000, "-0"][rng.integers(5)], 1)
    members[STRUCTURE] = text.encode()
    return f"{kind} {str(key)[:40]}"


def _arrays(members):
    return [name for name in members if name.endswith(".npy")]


def _load(member):
    return np.lib.format.read_array(io.BytesIO(member), allow_pickle=False)


def _dump(array, pickled=False):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=pickled)
    return out.getvalue()


def array_values(members, rng):
    """Change numbers of an array: one, some or all of them."""
    name = _arrays(members)[rng.integers(len(_arrays(members)))]
    array = _load(members[name]).copy()
    if not array.size:
        return "nothing"
    flat = array.reshape(-1)
    where = [slice(0, 1), slice(-1, None), slice(None), rng.integers(0, flat.size, 3)][rng.integers(4)]
    if array.dtype.kind == "f":
        odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e160, 1e-310, 0.0, -1.0, 2.0, 0.5, 1e10]
        flat[where] = np.array(odd[rng.integers(len(odd))]).astype(array.dtype)
    elif array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        odd = [limits.min, limits.max, -1, 0, 1, 59, 60, 61, 100, 2**20, 2**30]
        flat[where] = np.int64(odd[rng.integers(len(odd))]).astype(array.dtype)
    elif array.dtype.kind == "b":
        flat[where] = ~flat[where]
    else:
        flat[where] = ["", "x", "y" * 100][rng.integers(3)]
    if rng.random() < 0.2:
        rng.shuffle(flat)
    members[name] = _dump(array)
    return f"{name} {array.dtype} {array.shape}"


def array_shape(members, rng):
    """Change shape, length or type of an array."""
    name = _arrays(members)[rng.integers(len(_arrays(members)))]
    array = _load(members[name])
    kinds = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "u4", "u8", "b1", "c16", "U3")
    kinds += ("S3", ">f8", ">i8", "M8[s]", "V8")
    ways = [
        lambda a: a[:-1],
        lambda a: a[: len(a) // 2],
        lambda a: a[:0],
        lambda a: np.concatenate([a, a[-1:]]),
        lambda a: np.concatenate([a, a]),
        lambda a: a.T,
        np.asfortranarray,
        lambda a: a.reshape(-1),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a[:, :-1],
        lambda a: np.hstack([a, a[:, -1:]]),
        lambda a: a[:, :0],
        lambda a: a.reshape(-1)[0],
        lambda a: a.astype(kinds[rng.integers(len(kinds))]),
        lambda a: a.astype(kinds[rng.integers(len(kinds))]),
        lambda a: a.reshape(-1).view(kinds[rng.integers(len(kinds))]),
        lambda a: np.zeros(0),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            changed = ways[rng.integers(len(ways))](array)
        except (ValueError, TypeError, IndexError):
            changed = array.reshape(-1)[: array.size // 2]
    members[name] = _dump(np.asanyarray(changed))
    return f"{name} {array.dtype} {array.shape} -> {changed.dtype} {changed.shape}"


def array_pointers(members, rng):
    """Change indices and row pointers of a sparse matrix."""
    content = json.loads(members[STRUCTURE])
    found = [_at(content, path) for path in _paths(content) if path and path[-1] == "csr"]
    if not found:
        return array_values(members, rng)
    name = f"{found[rng.integers(len(found))][rng.integers(1, 3)]}.npy"
    array = _load(members[name]).copy()
    i, j = rng.integers(0, array.size, 2)
    way = ["beyond", "far", "negative", "swap", "shift", "zero", "last", "first"][rng.integers(8)]
    if way == "beyond":
        array[i] = array.max() + 1
    elif way == "far":
        array[i] = np.iinfo(array.dtype).max // 2
    elif way == "negative":
        array[i] = -1 - i
    elif way == "swap":
        array[[i, j]] = array[[j, i]]
    elif way == "shift":
        array += 1
    elif way == "zero":
        array[:] = 0
    elif way == "last":
        array[-1] += int(rng.choice([-1, 1, 1000, 2**30]))
    else:
        array[0] = int(rng.choice([1, -1, 2**30]))
    members[name] = _dump(array)
    return f"{name} {way}"


def array_header(members, rng):
    """Change the header of an array, or what follows it."""
    name = _arrays(members)[rng.integers(len(_arrays(members)))]
    old = members[name]
    way = int(rng.integers(9))
    header = {
        0: b"'shape': (1000000000000,), }",
        1: b"'shape': (4294967296, 4294967296), }",
        2: b"'shape': (-1,), }",
        3: b"'shape': (0, 100000000000000000), }",
        4: b"'shape': (((((((((((1))))))))))), }",
    }
    if way in header:
        first, _, rest = old.partition(b"'shape'")
        members[name] = first + header[way] + rest[rest.index(b"}") + 1 :]
    elif way == 5:
        members[name] = old[: int(rng.integers(0, len(old)))]
    elif way == 6:
        members[name] = old + b"\0" * int(rng.integers(1, 100))
    elif way == 7:
        members[name] = _dump(np.array([{"a": 1}], dtype=object), pickled=True)
    else:
        members[name] = old[:6] + bytes([int(rng.integers(0, 5)), int(rng.integers(0, 3))]) + old[8:]
    return f"{name} {way}"


def whole_members(members, rng):
    """Drop, empty, rename, exchange or add members."""
    names = list(members)
    name, other = (names[rng.integers(len(names))] for _ in range(2))
    way = ["drop", "empty", "rename", "exchange", "add", "copy"][rng.integers(6)]
    if way == "drop":
        del members[name]
    elif way == "empty":
        members[name] = b""
    elif way == "rename":
        members[["x", "../x", "1000.npy", "DIGEST"][rng.integers(4)]] = members.pop(name)
    elif way == "exchange":
        members[name], members[other] = members[other], members[name]
    elif way == "copy":
        members[name] = members[other]
    else:
        members[["x", "500.npy", f"{len(names) - 2}.npy", "model.json/"][rng.integers(4)]] = b"\0" * 100
    return "digest" if DIGEST in (name, other) else f"{way} {name}"


def packed_otherwise(members, rng):
    """Compress, repeat or pile up members."""
    if rng.random() < 0.5:
        return _zipped(members, zipfile.ZIP_DEFLATED)
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")
        for name, content in [*members.items(), *list(members.items())[:1]]:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return out.getvalue()


def raw_bytes(members, rng):
    """Flip, cut or insert bytes of the finished file."""
    return ""


def _damaged(content, rng):
    data = bytearray(content)
    way = int(rng.integers(4))
    at = int(rng.integers(len(data))) if rng.random() < 0.5 else len(data) - 1 - int(rng.integers(5000))
    if way == 0:
        data[at] ^= 1 << int(rng.integers(8))
    elif way == 1:
        for _ in range(20):
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
    elif way == 2:
        del data[at:]
    else:
        data[at:at] = rng.bytes(int(rng.integers(1, 50)))
    return bytes(data), f"{way} at {at}"


MUTATIONS = (
    json_value,
    json_structure,
    array_values,
    array_shape,
    array_pointers,
    array_header,
    whole_members,
    packed_otherwise,
    raw_bytes,
)
SHARES = np.array([0.3, 0.12, 0.16, 0.16, 0.1, 0.05, 0.04, 0.01, 0.06])


def outcome(path, base, content):
    """What siis makes of a file: "refused", "same answers", "other answers", or what went wrong."""
    path.write_bytes(content)
    try:
        saved = load_all(path)
    except ValueError as problem:
        text = str(problem)
        starts = (
            f"{path} is not a model that siis has saved, or it is damaged (",
            f"{path} was written by another version",
        )
        is_clear = text.startswith(starts) and "\n" not in text and len(text) < 600
        return "refused" if is_clear else f"unclear refusal: {text}"
    except Exception as problem:
        return f"failed to load: {problem!r}"
    try:
        found = _answers(saved, base)
    except Exception as problem:
        if isinstance(problem, ValueError) and OTHER in str(problem):
            return "other columns"
        unfit = isinstance(problem, ValueError) and str(problem).endswith(UNFIT)
        return "points out of reach" if unfit else f"failed in use: {problem!r}"
    return "same answers" if found == base.answers else "other answers"


def _answers(saved, base):
    """All that can be asked of a model; warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = saved.model
        found = [model.predict_proba(base.X).tobytes(), str(model.predict(base.X)), str(model.transduction_)]
        if hasattr(model, "label_quality_"):
            found += [str(model.label_issues()), str(model.suggest_queries()), str(model.members_)]
        if base.table is not None and "ids" in saved.extra:  # without, it is a model that was saved in Python
            if saved.extra["recipe"] is not None:  # without, nothing is known about new files
                found.append(predict_file(saved, base.table, Roles())[0])
            found += [str(explain(saved, name)) for name in saved.extra["ids"][:3]]
            found.append(str(checked_labels(saved.extra)))
    return found


def is_fine(said, base, fresh):
    """Whether an outcome is allowed; a file of 0.1.0 has no digest that could be stale."""
    return said in (FINE_IF_FRESH if fresh or base.name == "0.1.0" else FINE)
