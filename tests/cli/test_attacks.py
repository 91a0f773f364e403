"""Odd files and odd calls: an answer with all its files, or one sentence and nothing written; never a traceback."""

import gzip
import io
import json
import os
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq

from cli_case import QUICK, SIIS, write_csv

pytestmark = pytest.mark.slow

N = 24
ROWS = [(f"r{i}", ("x", "y", "")[i % 3], f"{i % 2 * 7 + i / 10:.1f}", f"{i * i % 11}") for i in range(N)]
HEADER = ("id", "label", "a", "b")
LINES = [",".join(row) for row in (HEADER, *ROWS)]
TEXT = "\n".join(LINES) + "\n"
WHOLE = TEXT.encode()
GOOD, BAD, USAGE = 0, 1, 2


def replaced(old, new):
    assert old in TEXT
    return TEXT.replace(old, new).encode()


def with_labels(cells):
    return "\n".join([LINES[0], *(f"{row[0]},{cells(i)},{row[2]},{row[3]}" for i, row in enumerate(ROWS))]).encode()


def with_header(*names):
    return "\n".join([",".join(names), *LINES[1:]]).encode()


def workbook(*rows, sheets=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in sheets:
        book.create_sheet(name)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def arrow(table):
    out = io.BytesIO()
    feather.write_feather(table, out)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


X = np.array([[float(row[2]), float(row[3])] for row in ROWS])
Y = np.array([row[1] for row in ROWS])
LABELS = [row[1] or None for row in ROWS]
SHEET = workbook(HEADER, *ROWS)
PARQUET = parquet(label=LABELS, a=X[:, 0], b=X[:, 1])
ARROW = arrow(pa.table({"label": LABELS, "a": X[:, 0], "b": X[:, 1]}))
JSONS = json.dumps([{"id": row[0], "label": row[1] or None, "a": float(row[2]), "b": float(row[3])} for row in ROWS])

FILES = {  # name -> (file, content, exit code, part of the sentence)
    "plain": ("t.csv", WHOLE, GOOD, ""),
    "no end of line": ("t.csv", WHOLE.rstrip(), GOOD, ""),
    "carriage returns": ("t.csv", WHOLE.replace(b"\n", b"\r\n"), GOOD, ""),
    "old line ends": ("t.csv", WHOLE.replace(b"\n", b"\r"), GOOD, ""),
    "byte order mark": ("t.csv", b"\xef\xbb\xbf" + WHOLE, GOOD, ""),
    "blank lines above": ("t.csv", b"\n\n\n" + WHOLE, GOOD, ""),
    "blank lines between": ("t.csv", WHOLE.replace(b"\nr3,", b"\n\n\nr3,"), GOOD, ""),
    "blank lines below": ("t.csv", WHOLE + b"\n" * 50, GOOD, ""),
    "rows of commas below": ("t.csv", WHOLE + b",,,\n" * 50, GOOD, ""),
    "spaces around cells": ("t.csv", WHOLE.replace(b",", b" , "), GOOD, ""),
    "all quoted": ("t.csv", ('"' + TEXT.strip().replace(",", '","').replace("\n", '"\n"') + '"').encode(), GOOD, ""),
    "semicolons": ("t.csv", WHOLE.replace(b",", b";"), GOOD, ""),
    "tabs": ("t.csv", WHOLE.replace(b",", b"\t"), GOOD, ""),
    "bars": ("t.csv", WHOLE.replace(b",", b"|"), GOOD, ""),
    "text file": ("t.txt", WHOLE, GOOD, ""),
    "text file with tabs": ("t.txt", WHOLE.replace(b",", b"\t"), GOOD, ""),
    "capital suffix": ("T.CSV", WHOLE, GOOD, ""),
    "gzip": ("t.csv.gz", gzip.compress(WHOLE), GOOD, ""),
    "gzip of text": ("t.txt.gz", gzip.compress(WHOLE), GOOD, ""),
    "two dots": ("t.old.csv", WHOLE, GOOD, ""),
    "a name with a space": ("my table.csv", WHOLE, GOOD, ""),
    "a name of letters": ("tæble 表.csv", WHOLE, GOOD, ""),
    "a name with brackets": ("t[1].csv", WHOLE, GOOD, ""),
    "a name with a star": ("t*.csv", WHOLE, GOOD, ""),
    "a name with a line end": ("t\n.csv", WHOLE, GOOD, ""),
    "commas for tabs": ("t.tsv", WHOLE, BAD, "Rename the file to .csv"),
    "tabs in tsv": ("t.tsv", WHOLE.replace(b",", b"\t"), GOOD, ""),
    "empty": ("t.csv", b"", BAD, "is empty"),
    "empty text": ("t.txt", b"", BAD, "is empty"),
    "one line end": ("t.csv", b"\n", BAD, "is empty"),
    "a mark alone": ("t.csv", b"\xef\xbb\xbf", BAD, "is empty"),
    "spaces alone": ("t.csv", b"   \n", BAD, ""),
    "header alone": ("t.csv", LINES[0].encode(), BAD, "no rows"),
    "header and commas": ("t.csv", LINES[0].encode() + b"\n,,,\n,,,\n", BAD, "no rows"),
    "no header": ("t.csv", "\n".join(LINES[1:]).encode(), BAD, "the label column"),
    "one row": ("t.csv", "\n".join(LINES[:2]).encode(), BAD, ""),
    "two rows": ("t.csv", "\n".join(LINES[:3]).encode(), GOOD, ""),
    "one column": ("t.csv", b"label\nx\ny\nx\n", BAD, "at least one column must be a feature"),
    "one feature": ("t.csv", "\n".join(line.rsplit(",", 1)[0] for line in LINES).encode(), GOOD, ""),
    "a short row": ("t.csv", replaced("\nr5,", "\nr5\nx,"), BAD, "line 7"),
    "a long row": ("t.csv", replaced("\nr5,", "\nr5,,,"), BAD, "line 7"),
    "a quote that never ends": ("t.csv", replaced("\nr5,", '\n"r5,'), BAD, ""),
    "a quote inside": ("t.csv", replaced("\nr5,", '\nr"5,'), GOOD, ""),
    "names twice": ("t.csv", with_header("id", "label", "a", "a"), BAD, "found a at columns 3 and 4"),
    "the label twice": ("t.csv", with_header("id", "label", "label", "a"), BAD, "found label"),
    "a name is empty": ("t.csv", with_header("id", "label", "", "b"), GOOD, ""),
    "all names are empty": ("t.csv", with_header("", "", "", ""), BAD, "none named label"),
    "a name of spaces": ("t.csv", with_header("id", "label", "  ", "b"), GOOD, ""),
    "the label in capitals": ("t.csv", with_header("id", "LABEL", "a", "b"), BAD, "Did you mean LABEL"),
    "a long name": ("t.csv", with_header("id", "label", "a" * 100_000, "b"), GOOD, ""),
    "a name with control characters": ("t.csv", with_header("id", "label", "\x1b[31ma\x07", "b"), GOOD, ""),
    "a name that is markup": ("t.csv", with_header("id", "label", "<script>1</script>", "b"), GOOD, ""),
    "a name that is a formula": ("t.csv", with_header("id", "label", "=1+1", "b"), GOOD, ""),
    "ids twice": ("t.csv", replaced("\nr5,", "\nr6,"), BAD, "ids must differ"),
    "an id is empty": ("t.csv", replaced("\nr5,", "\n,"), BAD, "must have an id"),
    "a huge cell": ("t.csv", replaced("\nr5,", f"\n{'r' * 5_000_000},"), GOOD, ""),
    "a huge label": ("t.csv", with_labels(lambda i: "xy"[i % 2] * 100_000), GOOD, ""),
    "latin-1": ("t.csv", replaced("\nr5,", "\nré,").decode().encode("latin-1"), BAD, "--encoding latin-1"),
    "utf-16": ("t.csv", TEXT.encode("utf-16"), BAD, "--encoding utf-16"),
    "utf-16 without a mark": ("t.csv", TEXT.encode("utf-16-le"), BAD, "--encoding utf-16"),
    "utf-32": ("t.csv", TEXT.encode("utf-32"), BAD, ""),
    "a NUL byte": ("t.csv", replaced("\nr5,", "\nr5\0,"), BAD, "NUL"),
    "random bytes": ("t.csv", np.random.default_rng(0).bytes(5000), BAD, ""),
    "a picture": ("t.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), BAD, ""),
    "a page": ("t.csv", b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n", BAD, ""),
    "a workbook called csv": ("t.csv", SHEET, BAD, ""),
    "csv called gzip": ("t.csv.gz", WHOLE, BAD, "gzip"),
    "gzip called csv": ("t.csv", gzip.compress(WHOLE), BAD, ""),
    "gzip cut off": ("t.csv.gz", gzip.compress(WHOLE)[:-10], BAD, "gzip"),
    "gzip of nothing": ("t.csv.gz", gzip.compress(b""), BAD, "is empty"),
    "gzip of gzip": ("t.csv.gz", gzip.compress(gzip.compress(WHOLE)), BAD, ""),
    "no suffix": ("t", WHOLE, BAD, "no suffix"),
    "unknown suffix": ("t.ods", WHOLE, BAD, ".ods"),
    "old Excel": ("t.xls", b"\xd0\xcf\x11\xe0" * 100, BAD, ".xls"),
    "one class": ("t.csv", with_labels(lambda i: "x" if i % 2 else ""), GOOD, ""),
    "all unlabelled": ("t.csv", with_labels(lambda i: ""), BAD, "at least one example must be labelled"),
    "all NaN": ("t.csv", with_labels(lambda i: "NaN"), BAD, "at least one example must be labelled"),
    "all nulls of MySQL": ("t.csv", with_labels(lambda i: "\\N"), BAD, "at least one example must be labelled"),
    "all -1": ("t.csv", with_labels(lambda i: "-1"), BAD, "at least one example must be labelled"),
    "all none": ("t.csv", with_labels(lambda i: "none"), GOOD, ""),
    "one label": ("t.csv", with_labels(lambda i: "" if i else "x"), GOOD, ""),
    "a class for each row": ("t.csv", with_labels(lambda i: f"c{i}"), GOOD, ""),
    "all labelled": ("t.csv", with_labels(lambda i: "xy"[i % 2]), GOOD, ""),
    "labels with control characters": ("t.csv", with_labels(lambda i: ("\x1b[2J", "\x07y")[i % 2]), GOOD, ""),
    "labels that are formulas": ("t.csv", with_labels(lambda i: ("=cmd()", "@x")[i % 2]), GOOD, ""),
    "labels with other spaces": ("t.csv", with_labels(lambda i: ("x\u00a0", "x\u200b", "y")[i % 3]), GOOD, ""),
    "labels of signs": ("t.csv", with_labels(lambda i: ("-1", "1")[i % 2]), GOOD, ""),
    "labels of fractions": ("t.csv", with_labels(lambda i: f"{i / 7:.4f}"), GOOD, ""),
    "constant features": ("t.csv", "\n".join(["label,a", *(f"{'xy'[i % 2]},1" for i in range(9))]).encode(), BAD, ""),
    "infinite features": (
        "t.csv",
        "\n".join(["label,a", *(f"{'xy'[i % 2]},inf" for i in range(9))]).encode(),
        BAD,
        "",
    ),
    "empty features": ("t.csv", "\n".join(["label,a", *(f"{'xy'[i % 2]}," for i in range(9))]).encode(), BAD, ""),
    "some words for numbers": ("t.csv", replaced("\nr5,,7.5,", "\nr5,,seven,"), GOOD, ""),
    "equal rows": (
        "t.csv",
        "\n".join(["label,a", *(f"{'xy'[i % 2]},{i % 2}" for i in range(20))]).encode(),
        GOOD,
        "",
    ),
    "workbook": ("t.xlsx", SHEET, GOOD, ""),
    "workbook with a title": ("t.xlsx", workbook(("Stock",), (), HEADER, *ROWS), GOOD, ""),
    "workbook of other sheets": ("t.xlsx", workbook(("a", "b"), (1, 2), sheets=("July",)), BAD, "July"),
    "workbook, first sheet empty": ("t.xlsx", workbook(sheets=("July",)), BAD, "other sheets: July"),
    "workbook, header alone": ("t.xlsx", workbook(HEADER), BAD, "no rows"),
    "workbook with columns twice": (
        "t.xlsx",
        workbook(("label", "a", "a"), ("x", 1, 2)),
        BAD,
        "a at columns 2 and 3",
    ),
    "workbook cut off": ("t.xlsx", SHEET[: len(SHEET) // 2], BAD, "must be an XLSX file"),
    "workbook of text": ("t.xlsx", WHOLE, BAD, "must be an XLSX file"),
    "workbook, empty": ("t.xlsx", b"", BAD, "must be an XLSX file"),
    "workbook, another archive": ("t.xlsx", zipped(a="b"), BAD, "must be an XLSX file"),
    "workbook, changed inside": (
        "t.xlsx",
        SHEET.replace(b"PK\x03\x04", b"PK\x03\x05", 3),
        BAD,
        "must be an XLSX file",
    ),
    "parquet": ("t.parquet", PARQUET, GOOD, ""),
    "parquet cut off": ("t.parquet", PARQUET[:-20], BAD, "must be a Parquet file"),
    "parquet, empty": ("t.parquet", b"", BAD, "must be a Parquet file"),
    "parquet of text": ("t.parquet", WHOLE, BAD, "must be a Parquet file"),
    "parquet, marks alone": ("t.parquet", b"PAR1" * 20, BAD, "must be a Parquet file"),
    "parquet without rows": (
        "t.parquet",
        parquet(label=pa.array([], "string"), a=pa.array([], "float64")),
        BAD,
        "no rows",
    ),
    "parquet of lists": ("t.parquet", parquet(label=LABELS, v=X.tolist()), GOOD, ""),
    "parquet of unequal lists": ("t.parquet", parquet(label=LABELS, v=[[1.0] * i for i in range(N)]), BAD, "of type"),
    "parquet, lists of lists": ("t.parquet", parquet(label=LABELS, v=[[[1.0]]] * N), BAD, "of type"),
    "parquet, lists for labels": ("t.parquet", parquet(label=[["x"]] * N, a=X[:, 0]), BAD, "holds list"),
    "parquet, bytes": ("t.parquet", parquet(label=LABELS, v=[b"\xff"] * N), BAD, ""),
    "parquet of nulls": ("t.parquet", parquet(label=LABELS, v=pa.nulls(N)), BAD, "no values"),
    "parquet, csv inside": ("t.csv", PARQUET, BAD, ""),
    "arrow": ("t.arrow", ARROW, GOOD, ""),
    "arrow cut off": ("t.arrow", ARROW[:-30], BAD, "must be an Arrow file"),
    "arrow, empty": ("t.arrow", b"", BAD, "must be an Arrow file"),
    "feather of text": ("t.feather", WHOLE, BAD, "must be an Arrow file"),
    "json": ("t.json", JSONS.encode(), GOOD, ""),
    "json cut off": ("t.json", JSONS[:-20].encode(), BAD, "must be JSON"),
    "json, empty": ("t.json", b"", BAD, ""),
    "json, no list": ("t.json", b"5", BAD, ""),
    "json, empty list": ("t.json", b"[]", BAD, "empty list"),
    "json, list of numbers": ("t.json", b"[1, 2]", BAD, ""),
    "json, deep": ("t.json", b"[" * 100_000, BAD, ""),
    "json, deep and closed": ("t.json", b"[" * 5000 + b"]" * 5000, BAD, "nested"),
    "json, long number": ("t.json", b"[" + b"9" * 10_000 + b"]", BAD, ""),
    "json of latin-1": ("t.json", '[{"label": "é"}]'.encode("latin-1"), BAD, ""),
    "json, half a character": ("t.json", JSONS.replace("r5", "\\ud800").encode(), GOOD, ""),
    "jsonl, empty": ("t.jsonl", b"", BAD, "empty"),
    "jsonl, a bad line": ("t.jsonl", b'{"label": "x"}\n{"label"\n', BAD, "line 2"),
    "jsonl, a list": ("t.jsonl", b"[]\n", BAD, ""),
    "npz": ("t.npz", npz(X=X, label=Y, id=np.arange(N)), GOOD, ""),
    "npz without labels": ("t.npz", npz(X=X), BAD, ""),
    "npz of objects": ("t.npz", npz(X=X, label=np.array([{}] * N, dtype=object), id=np.arange(N)), BAD, ""),
    "npz of other lengths": ("t.npz", npz(X=X, label=Y[:-1], id=np.arange(N)), BAD, ""),
    "npz of text": ("t.npz", WHOLE, BAD, "must be an NPZ file"),
    "npz, empty": ("t.npz", b"", BAD, "must be an NPZ file"),
    "npz, another archive": ("t.npz", zipped(a="b"), BAD, ""),
    "npz cut off": ("t.npz", npz(X=X, label=Y)[:-50], BAD, "must be an NPZ file"),
    "npz of complex numbers": ("t.npz", npz(X=X + 1j, label=Y, id=np.arange(N)), BAD, "must hold numbers"),
    "npz of one number": ("t.npz", npz(X=np.float64(1), label=Y), BAD, ""),
    "npy": ("t.npy", b"\x93NUMPY", BAD, ".npy"),
    "zip": ("t.zip", zipped(**{"t.csv": TEXT}), BAD, ""),
}

CALLS = {  # name -> (arguments after "fit", exit code, part of the message)
    "no data": ([], USAGE, "DATA"),
    "no such file": (["nowhere.csv"], BAD, "no such file"),
    "no such pattern": (["nowhere*.csv"], BAD, "no file has such a name"),
    "an empty path": ([""], BAD, ""),
    "a folder without images": (["empty"], BAD, "must hold images"),
    "a file as a folder": (["t.csv/x.csv"], BAD, ""),
    "a long name": (["x" * 5000 + ".csv"], BAD, ""),
    "a device": (["/dev/null"], BAD, ""),
    "twice the same file": (["t.csv", "t.csv"], BAD, "named twice"),
    "one of two is not there": (["t.csv", "nowhere.csv"], BAD, "nowhere.csv: there is no such file"),
    "a folder among files": (["t.csv", "empty"], BAD, "several files must be tables"),
    "an unknown option": (["t.csv", "--nonsense"], USAGE, "nonsense"),
    "an option that takes the next one for its value": (["t.csv", "--label"], BAD, "no such file"),
    "an unknown column": (["t.csv", "--label", "nothing"], BAD, "none named nothing"),
    "an empty column": (["t.csv", "--label", ""], BAD, ""),
    "an unknown id": (["t.csv", "--id", "nothing"], BAD, "none named nothing"),
    "unknown features": (["t.csv", "--features", "u", "v"], BAD, "none named u, v"),
    "a feature twice": (["t.csv", "--features", "a", "a"], BAD, "named twice"),
    "the label as a feature": (["t.csv", "--features", "label", "a", "--label", "label"], BAD, "named for both"),
    "the label as text": (["t.csv", "--text", "label", "--label", "label"], BAD, "must have no other role"),
    "unknown text": (["t.csv", "--text", "nothing"], BAD, "none named nothing"),
    "text only, no text": (["t.csv", "--text-only"], BAD, "--text"),
    "annotators and labels": (["t.csv", "--annotators", "a", "b", "--label", "label"], BAD, "Leave one of them out"),
    "an annotator twice": (["t.csv", "--annotators", "a", "a"], BAD, "named once"),
    "a sheet of a text file": (["t.csv", "--sheet", "July"], BAD, "Leave --sheet out"),
    "a row of names too far": (["t.csv", "--header-row", "999"], BAD, "--header-row says 999"),
    "row of names 0": (["t.csv", "--header-row", "0"], USAGE, "--header-row"),
    "row of names in words": (["t.csv", "--header-row", "first"], USAGE, "--header-row"),
    "an unknown encoding": (["t.csv", "--encoding", "klingon"], BAD, "must be one that Python knows"),
    "a wrong encoding": (["t.csv", "--encoding", "utf-16"], BAD, "--encoding utf-8"),
    "an encoding that is no text": (["t.csv", "--encoding", "hex"], BAD, "must be one that Python knows"),
    "embeddings that are not there": (["t.csv", "--embeddings", "e.npy"], BAD, "no such file"),
    "embeddings of text": (["t.csv", "--embeddings", "t.csv"], BAD, ""),
    "a graph that is not there": (["t.csv", "--graph", "g.npz"], BAD, "no such file"),
    "two ways to compare": (["t.csv", "--graph", "g.npz", "--embeddings", "e.npy"], BAD, "in one way"),
    "an encoder without text": (["t.csv", "--encoder", "e.onnx"], BAD, ""),
    "an encoder that is not there": (["t.csv", "--encoder", "e.onnx", "--text", "id"], BAD, ""),
    "an encoder that is a table": (["t.csv", "--encoder", "t.csv", "--text", "id"], BAD, ""),
    "an encoder that is a folder": (["t.csv", "--encoder", "empty", "--text", "id"], BAD, ""),
    "corrections that are not there": (["t.csv", "--corrections", "c.csv"], BAD, "no such file"),
    "corrections without columns": (["t.csv", "--corrections", "bare.csv"], BAD, "bare.csv"),
    "corrections of other ids": (["t.csv", "--corrections", "other.csv"], BAD, "there is no id"),
    "a labels file for a table": (["t.csv", "--labels-file", "t.csv"], BAD, "--labels-file"),
    "no neighbours": (["t.csv", "--n-neighbors", "0"], BAD, "--n-neighbors"),
    "neighbours in words": (["t.csv", "--n-neighbors", "many"], BAD, "--n-neighbors"),
    "alpha below 0": (["t.csv", "--alpha", "-1"], BAD, "--alpha"),
    "alpha NaN": (["t.csv", "--alpha", "nan"], BAD, "--alpha"),
    "tolerance in words": (["t.csv", "--tol", "small"], USAGE, "--tol"),
    "tolerance 0": (["t.csv", "--tol", "0"], BAD, "--tol"),
    "a seed below 0": (["t.csv", "--seed", "-1"], USAGE, "--seed"),
    "an unknown member": (["t.csv", "--members", "graph,trees"], BAD, "--members must be a list of some of"),
    "an unknown metric": (["t.csv", "--metric", "manhattan"], BAD, "--metric"),
    "an unknown engine": (["t.csv", "--engine", "abacus"], BAD, "--engine"),
    "an unknown solver": (["t.csv", "--solver", "soon"], BAD, "--solver"),
    "no queries": (["t.csv", "--queries", "0"], USAGE, "--queries"),
    "unknown issue columns": (["t.csv", "--issue-columns", "mine"], USAGE, "--issue-columns"),
    "a config that is not there": (["t.csv", "--config", "c.toml"], USAGE, "c.toml"),
    "a config of text": (["t.csv", "--config", "t.csv"], USAGE, "t.csv"),
    "workers without a cluster": (["t.csv", "--workers", "2"], BAD, "--cluster local"),
    "a word that unlabels all": (["t.csv", "--unlabelled", "x", "y"], BAD, "at least one example must be labelled"),
}

PREDICTIONS = {  # name -> (file, content, exit code, part of the message)
    "whole": ("n.csv", WHOLE, GOOD, ""),
    "no labels": ("n.csv", b"a,b\n1,2\n3,4\n", GOOD, ""),
    "one row": ("n.csv", b"a,b\n1,2\n", GOOD, ""),
    "other columns too": ("n.csv", b"z,b,a,z2\n1,2,3,4\n", GOOD, ""),
    "a title": ("n.xlsx", workbook(("New stock",), (), ("a", "b"), (1, 2), (3, 4)), GOOD, ""),
    "one column": ("n.csv", b"a\n1\n", BAD, "none named b"),
    "no columns of the fit": ("n.csv", b"c,d\n1,2\n", BAD, "none named a, b"),
    "words": ("n.csv", b"a,b\ntall,wide\nsmall,wide\n", BAD, "must hold numbers"),
    "some words": ("n.csv", b"a,b\n1,2\n3,?\n,\n", GOOD, ""),
    "header alone": ("n.csv", b"a,b\n", BAD, "no rows"),
    "empty": ("n.csv", b"", BAD, "is empty"),
    "bytes": ("n.csv", b"\xff\xfe\x00", BAD, ""),
    "npz": ("n.npz", npz(X=X), BAD, ""),
    "parquet": ("n.parquet", PARQUET, GOOD, ""),
    "parquet cut off": ("n.parquet", PARQUET[:-9], BAD, "Parquet"),
    "huge numbers": ("n.csv", b"a,b\n1e308,-1e308\n", None, ""),
    "infinite numbers": ("n.csv", b"a,b\ninf,1e999\n", GOOD, ""),
}


def check(done, code, said):
    assert "Traceback" not in done.stderr + done.stdout
    assert done.exit_code == code if code is not None else done.exit_code in (GOOD, BAD), done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split()), done.stderr
    if done.exit_code == BAD:
        assert done.stderr.startswith("siis: ")
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert len(done.stderr) < 12_000
        assert not done.stdout


def check_folder(out, is_done):
    """All files, or none; nothing that is half-written."""
    found = sorted(path.name for path in out.iterdir()) if out.exists() else []
    assert not [name for name in found if name.startswith(".")]
    if is_done:
        files = json.loads((out / "summary.json").read_text())["files"]
        assert {*files, "summary.json"} == {*found}
    else:
        assert found == []


def test_there_are_enough():
    assert len(FILES) + len(CALLS) + len(PREDICTIONS) >= 200


@pytest.mark.parametrize("name", FILES)
def test_odd_files(siis, tmp_path, name):
    file, content, code, said = FILES[name]
    (tmp_path / file).write_bytes(content)
    ids = [] if file.endswith((".parquet", ".arrow", ".feather")) or b"\nr5," not in content else ["--id", "id"]
    ids = ["--id", "id"] if file.endswith(".npz") or "id" in name.split() or "ids" in name.split() else ids
    done = siis("fit", tmp_path / file, "--label", "label", *ids, "--out", tmp_path / "out", *QUICK)
    check(done, code, said)
    check_folder(tmp_path / "out", done.exit_code == GOOD)


@pytest.mark.parametrize("name", CALLS)
def test_odd_calls(siis, tmp_path, monkeypatch, name):
    arguments, code, said = CALLS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(WHOLE)
    (tmp_path / "bare.csv").write_text("a\n1\n")
    write_csv(tmp_path / "other.csv", ["id", "label"], [("nobody", "x")])
    (tmp_path / "empty").mkdir()
    done = siis("fit", *arguments, "--out", "out", *QUICK)
    check(done, code, said)
    check_folder(tmp_path / "out", is_done=False)
    assert (tmp_path / "t.csv").read_bytes() == WHOLE


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "t.csv").write_bytes(WHOLE)
    SIIS.ok("fit", str(folder / "t.csv"), "--features", "a", "b", "--out", str(folder / "out"), *QUICK)
    return folder / "out"


@pytest.mark.parametrize("name", PREDICTIONS)
def test_odd_files_to_predict(siis, model, tmp_path, name):
    file, content, code, said = PREDICTIONS[name]
    (tmp_path / file).write_bytes(content)
    done = siis("predict", model, tmp_path / file, "--out", tmp_path / "p.csv", "--quiet")
    check(done, code, said)
    assert (tmp_path / "p.csv").exists() == (done.exit_code == GOOD)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        {file, *(["p.csv"] if done.exit_code == GOOD else [])}
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], USAGE, "MODEL"),
        (["nowhere", "t.csv"], BAD, "no such file"),
        (["t.csv", "t.csv"], BAD, "is not a model that siis has saved"),
        (["MODEL"], USAGE, "NEWDATA"),
        (["MODEL", "nowhere.csv"], BAD, "no such file"),
        (["MODEL", "nowhere*.csv"], BAD, "no file has such a name"),
        (["MODEL", "t.csv", "t.csv"], BAD, "named twice"),
        (["MODEL", "t.csv", "--id", "nothing"], BAD, "none named nothing"),
        (["MODEL", "t.csv", "--sheet", "July"], BAD, "Leave --sheet out"),
        (["MODEL", "t.csv", "--encoder", "e.onnx"], BAD, "fitted without an encoder"),
        (["MODEL", "t.csv", "--encoding", "utf-16"], BAD, "--encoding utf-8"),
        (["MODEL", "t.csv", "--quiet", "--out", "folder"], BAD, "must be a file"),
        (["MODEL", "t.csv", "--label", "x"], USAGE, "--label"),
    ],
)
def test_odd_calls_of_predict(siis, model, tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(WHOLE)
    (tmp_path / "folder").mkdir()
    check(siis("predict", *(str(model) if text == "MODEL" else text for text in arguments)), code, said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "t.csv"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read every file")
def test_files_that_may_not_be_read(siis, tmp_path):
    (tmp_path / "t.csv").write_bytes(WHOLE)
    (tmp_path / "t.csv").chmod(0)
    check(
        siis("fit", tmp_path / "t.csv", "--label", "label", "--out", tmp_path / "out", *QUICK), BAD, "not permitted"
    )
    check_folder(tmp_path / "out", is_done=False)
