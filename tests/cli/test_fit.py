"""`siis fit`, `predict`, `explain` and `corrections`, from file to file."""

import hashlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import typer
from PIL import Image

from cli_case import QUICK, read_csv, write_csv
from siis import load
from siis.app.cli.program import app
from siis.app.options import FitOptions
from siis.graph import build_neighbor_graph
from siis.tables import Roles

pytestmark = pytest.mark.slow

LOUD = [word for word in QUICK if word != "--quiet"]
NAMES = (
    *("predictions.csv", "label_issues.csv", "label_quality.csv", "label_next.csv", "checked_labels.csv"),
    *("near_duplicates.csv", "outliers.csv", "class_overlap.csv", "annotators.csv"),
    *("model.siis", "report.html", "report.json", "summary.json"),
)


def fitted(siis, table, out, *more):
    path = table[0]
    done = siis.ok("fit", path, "--label", "label", "--id", "name", "--out", out, *QUICK, *more)
    return done


def test_from_file_to_files(siis, table, tmp_path):
    path, ids, labels, truth = table
    done = siis.ok("fit", path, "--label", "label", "--id", "name", "--out", tmp_path / "new" / "out", "--seed", 3)
    out = tmp_path / "new" / "out"
    assert sorted(p.name for p in out.iterdir()) == sorted(NAMES)
    assert "200 rows" in done.stderr
    assert "80 labelled" in done.stderr
    assert str(out / "report.html") in done.stdout
    predictions = read_csv(out / "predictions.csv")
    assert [row["id"] for row in predictions] == ids
    answer = np.array([row["label"] for row in predictions])
    assert np.mean(answer == truth) > 0.95
    assert [row["given"] for row in predictions] == list(labels)
    for row in predictions:
        assert row["agrees"] == ("" if not row["given"] else "yes" if row["given"] == row["label"] else "no")
        assert 0 < float(row["probability"]) <= 1
    issues = read_csv(out / "label_issues.csv")
    wrong = {ids[i] for i in range(200) if labels[i] and labels[i] != truth[i]}
    assert len(wrong) == 16
    assert len(wrong & {row["id"] for row in issues}) >= 14
    assert [float(row["quality"]) for row in issues] == sorted(float(row["quality"]) for row in issues)
    assert all(row["why"].endswith(".") for row in issues)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["labelled"] == 80
    assert summary["suspects"] == len(issues)
    assert 0.1 < summary["noise_rate"] < 0.35
    assert summary["relative_gap"] <= 1e-4
    for name, digest in summary["files"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest


def test_the_same_input_gives_the_same_bytes(siis, table, tmp_path):
    written = []
    for _ in range(2):  # into the same folder, which the report names
        fitted(siis, table, tmp_path / "out", "--method", "auto", "--n-neighbors", 10)
        written.append({name: (tmp_path / "out" / name).read_bytes() for name in NAMES})
    for name in NAMES:
        assert written[0][name] == written[1][name], name


def test_parameters_reach_the_classifier(siis, table, tmp_path):
    options = {
        "n-neighbors": 7,
        "n-components": 12,
        "alpha": 50,
        "beta": 5,
        "bandwidth": 20,
        "metric": "euclidean",
        "connectivity": "mutual",
        "laplacian": "normalized",
        "neighbor-search": "exact",
        "method": "paper",
        "solver": "paper",
        "tol": 0.001,
        "max-iter": 77,
        "seed": 5,
    }
    given = [part for name, value in options.items() for part in (f"--{name}", value)]
    fitted(siis, table, tmp_path / "out", *given, "--title", "My <digits>")
    model = load(tmp_path / "out" / "model.siis")
    renamed = {"seed": "random_state"}
    for name, value in options.items():
        assert getattr(model, renamed.get(name, name.replace("-", "_"))) == value, name
    assert "My &lt;digits&gt;" in (tmp_path / "out" / "report.html").read_text()
    named = ("--label", "label", "--id", "name", "--out", tmp_path / "average")
    siis.ok("fit", table[0], *named, "--members", "graph and kernel, forest")
    assert load(tmp_path / "average" / "model.siis").members == ["graph and kernel", "forest"]


def test_as_many_issues_are_listed_as_are_wanted(siis, table, tmp_path):
    fitted(siis, table, tmp_path / "out", "--method", "auto", "--issues", 3)
    assert len((tmp_path / "out" / "label_issues.csv").read_text().splitlines()) == 4


def test_config_file(siis, table, tmp_path):
    path = table[0]
    config = tmp_path / "fit.toml"
    config.write_text('label = "label"\nid = "name"\nmethod = "paper"\nn-components = 9\nquiet = true\n')
    done = siis.ok("fit", path, "--config", config, "--out", tmp_path / "out", "--n-components", 11, "--json")
    options = json.loads(done.stdout)["options"]
    assert options["parameters"]["n_components"] == 11
    assert options["roles"]["id"] == "name"
    assert done.stderr == ""
    config.write_text('features = ["p1", "p2", "p20", "p30"]\nlabel = "label"\nmethod = "paper"\nquiet = true\n')
    done = siis("fit", path, "--config", config, "--out", tmp_path / "out", "--json")
    assert json.loads(done.stdout)["features"] == 4
    config.write_text('lable = "label"\n')
    done = siis("fit", path, "--config", config)
    assert done.exit_code == 2
    assert "Did you mean label" in " ".join(done.stderr.split())
    config.write_text("label = [\n")
    assert siis("fit", path, "--config", config).exit_code == 2
    for content in ('quiet = "maybe"\n', "seed = true\n"):
        config.write_text(content)
        assert siis("fit", path, "--config", config).exit_code == 2
    config.write_text('label = "label"\nmethod = "paper"\nquiet = true\njson = true\n')
    assert json.loads(siis("fit", path, "--config", config, "--out", tmp_path / "out").stdout)["labelled"] == 80
    config.write_text("tol = [1, 2]\n")
    assert siis("fit", path, "--config", config).exit_code == 2


def test_corrections_are_verified_and_accumulate(siis, table, tmp_path):
    _, ids, labels, truth = table
    out = tmp_path / "out"
    fitted(siis, table, out)
    before = {row["id"]: row for row in read_csv(out / "predictions.csv")}
    wrong = [i for i in range(200) if labels[i] and labels[i] != truth[i]]
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    # one label that the fit had corrected is kept by the reviewer, others are accepted
    kept = next(i for i in wrong if before[ids[i]]["label"] != labels[i])
    write_csv(first, ["id", "label", "decision"], [(ids[kept], labels[kept], "kept")])
    write_csv(second, ["id", "label", "decision"], [(ids[i], truth[i], "accepted") for i in wrong if i != kept])
    done = siis.ok("corrections", first, "--results", out, "--out", tmp_path / "two", "--quiet")
    after = {row["id"]: row for row in read_csv(tmp_path / "two" / "predictions.csv")}
    assert after[ids[kept]]["label"] == labels[kept] != before[ids[kept]]["label"]
    assert ids[kept] not in {row["id"] for row in read_csv(tmp_path / "two" / "label_issues.csv")}
    first.write_text(second.read_text())  # browsers give every download the same name
    done = siis("corrections", first, "--results", tmp_path / "two", "--json", "--quiet")
    summary = json.loads(done.stdout)
    assert summary["checked"] == len(wrong)
    assert summary["suspects"] < len(read_csv(out / "label_issues.csv"))
    last = {row["id"]: row for row in read_csv(tmp_path / "two" / "predictions.csv")}
    assert all(last[ids[i]]["label"] == (labels[i] if i == kept else truth[i]) for i in wrong)
    write_csv(first, ["id", "label"], [(ids[kept], "plutonium")])
    fit = ("fit", table[0], "--label", "label", "--id", "name", "--out", tmp_path / "three", *QUICK[:-1])
    both = siis(*fit, "--corrections", first, second, "--json")
    assert json.loads(both.stdout)["checked"] == len(wrong)
    assert "a new class, 'plutonium'" in both.stderr
    write_csv(first, ["id", "label"], [("digit 1x", "1")])
    assert "there is no id 'digit 1x'. Did you mean" in siis.refused("corrections", first, "--results", out)
    assert siis("corrections", second, "--results", tmp_path).exit_code == 1
    moved = json.loads((out / "summary.json").read_text())
    moved["options"]["data"] = "elsewhere.csv"
    (out / "summary.json").write_text(json.dumps(moved))
    assert "in the folder in which siis fit was run" in siis.refused("corrections", second, "--results", out)


def test_predict_replaces_no_file_that_it_reads(siis, table, tmp_path):
    path = table[0]
    fitted(siis, table, tmp_path / "out")
    pattern, model = path.with_name("*" + path.name[1:]), tmp_path / "out" / "model.siis"
    for data, out in ((path, path), (pattern, path), (path, model)):
        before = out.read_bytes()
        assert f"--out must not replace {out}, which is read" in siis.refused("predict", model, data, "--out", out)
        assert out.read_bytes() == before


def test_predictions_are_no_corrections(siis, table, tmp_path):
    fitted(siis, table, tmp_path / "out")
    assert "these are predictions of siis fit" in siis.refused(
        "corrections", tmp_path / "out" / "predictions.csv", "--results", tmp_path / "out"
    )


def test_predict_new_files(siis, table, tmp_path):
    path = table[0]
    fitted(siis, table, tmp_path / "out")
    done = siis.ok("predict", tmp_path / "out", path, "--id", "name", "--encoding", "utf-8", "--quiet")
    expected = [(r["id"], r["label"], r["probability"]) for r in read_csv(tmp_path / "out" / "predictions.csv")]
    lines = [tuple(line.split(",")) for line in done.stdout.splitlines()]
    assert lines[0] == ("id", "label", "probability")
    assert lines[1:] == expected
    done = siis.ok("predict", tmp_path / "out" / "model.siis", path, "--out", tmp_path / "new.csv")
    assert [row["id"] for row in read_csv(tmp_path / "new.csv")][:2] == [
        "digit 0",
        "digit 1",
    ]  # the column of the fit
    assert "200" in done.stderr
    rows = [line.split(",", 1)[1] for line in path.read_text().splitlines()]
    (tmp_path / "nameless.csv").write_text("\n".join(rows))
    done = siis("predict", tmp_path / "out", tmp_path / "nameless.csv", "--quiet")
    assert done.stdout.splitlines()[1].startswith("1,")
    twice = path.read_text().splitlines()
    (tmp_path / "twice.csv").write_text("\n".join([*twice, twice[1]]))
    # ids that are there must be sound; row numbers do not take their place
    assert "ids must differ" in siis.refused("predict", tmp_path / "out", tmp_path / "twice.csv", "--quiet")
    write_csv(tmp_path / "few.csv", ["p1", "p2"], [(1, 2), (3, 4)])
    assert "none named p3" in siis.refused("predict", tmp_path / "out", tmp_path / "few.csv")
    assert "no such file" in siis.refused("predict", tmp_path / "none", path)
    (tmp_path / "bad.siis").write_bytes(b"PK nonsense")
    assert "damaged" in siis("predict", tmp_path / "bad.siis", path).stderr


def test_explain(siis, table, tmp_path):
    _, ids, labels, truth = table
    fitted(siis, table, tmp_path / "out", "--method", "auto", "--n-neighbors", 10)
    wrong = next(i for i in range(200) if labels[i] and labels[i] != truth[i])
    done = siis.ok("explain", ids[wrong], "--results", tmp_path / "out")
    assert f"Its given label is {labels[wrong]}, which is likely wrong" in done.stdout
    assert "Without its own label" in done.stdout
    found = json.loads(siis("explain", ids[wrong], "--results", tmp_path / "out", "--json").stdout)
    assert found["label"] == truth[wrong]
    assert found["quality"] < 0.5
    assert 5 <= len(found["neighbors"]) <= 10
    assert sum(near["label"] == truth[wrong] for near in found["neighbors"]) > len(found["neighbors"]) / 2
    weights = [near["weight"] for near in found["neighbors"]]
    assert weights == sorted(weights, reverse=True)
    unlabelled = next(i for i in range(200) if not labels[i])
    assert "It has no given label." in siis("explain", ids[unlabelled], "--results", tmp_path / "out").stdout
    assert "there is no 'digit 9999'" in siis.refused("explain", "digit 9999", "--results", tmp_path / "out")


def test_texts(siis, tmp_path):
    topics = {"sea": "ship wave harbour sail tide", "kitchen": "oven bread butter salt knife"}
    rng = np.random.default_rng(0)
    rows = []
    for i in range(120):
        name = list(topics)[i % 2]
        words = " ".join(rng.choice(topics[name].split(), 8))
        rows.append((f"{words} <script>alert({i})</script>", name if i < 60 else ""))
    write_csv(tmp_path / "texts.csv", ["body", "topic"], rows)
    done = siis.ok(
        "fit", tmp_path / "texts.csv", "--text", "body", "--label", "topic", "--out", tmp_path / "out", *QUICK
    )
    answers = [row["label"] for row in read_csv(tmp_path / "out" / "predictions.csv")]
    assert answers == [list(topics)[i % 2] for i in range(120)]
    assert "<script>alert(" not in (tmp_path / "out" / "report.html").read_text()
    done = siis("explain", "3", "--results", tmp_path / "out")
    assert "tide" in done.stdout  # texts of neighbours
    write_csv(tmp_path / "new.csv", ["body"], [("tide and harbour",), ("salt and butter",)])
    done = siis("predict", tmp_path / "out", tmp_path / "new.csv", "--quiet")
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:]] == ["sea", "kitchen"]


def test_rows_of_a_table_can_be_read_in_the_report(siis, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        (
            f"{20 + 30 * (i % 2) + rng.random():.2f}",
            ["red", "blue"][i % 2],
            ["a", "b"][i % 2 ^ (i < 6)] if i < 60 else "",
        )
        for i in range(120)
    ]
    write_csv(tmp_path / "in.csv", ["age", "colour", "kind"], rows)
    siis.ok("fit", tmp_path / "in.csv", "--label", "kind", "--n-neighbors", 5, "--out", tmp_path / "out", "--quiet")
    page = (tmp_path / "out" / "report.html").read_text()
    island = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))
    first = read_csv(tmp_path / "out" / "label_issues.csv")[0]
    shown = island["suspects"][0]
    assert shown["id"] == first["id"]
    assert island["columns"] == ["age", "colour"]
    assert island["rows"][shown["cells"]] == list(rows[int(first["id"]) - 1][:2])
    assert f"--results {tmp_path / 'out'}<" in page


def test_annotators_with_embeddings_and_a_graph(siis, table, tmp_path):
    path, ids, _, truth = table
    rng = np.random.default_rng(1)
    answers = np.array([[t if rng.random() < 0.8 else rng.choice(list("0123")) for _ in range(3)] for t in truth])
    answers[100:] = ""
    write_csv(tmp_path / "people.csv", ["id", "ann", "bob", "eve"], zip(ids, *answers.T, strict=True))
    X = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(2, 66))
    np.save(tmp_path / "X.npy", X)
    people = ["fit", tmp_path / "people.csv", "--id", "id", "--annotators", "ann", "bob", "eve"]
    compared = ("--embeddings", tmp_path / "X.npy", "--out", tmp_path / "a")
    siis.ok(*people, *compared, *QUICK)
    found = np.array([row["label"] for row in read_csv(tmp_path / "a" / "predictions.csv")])
    assert np.mean(found == truth) > 0.95
    write_csv(tmp_path / "fix.csv", ["id", "label"], [(ids[0], "3"), (ids[150], "2")])
    siis.ok(*people, *compared, *QUICK, "--corrections", tmp_path / "fix.csv")
    found = [row["label"] for row in read_csv(tmp_path / "a" / "predictions.csv")]
    assert (found[0], found[150]) == ("3", "2")
    write_csv(tmp_path / "fix.csv", ["id", "label"], [(ids[0], "9")])
    said = siis.refused(*people, *compared, "--corrections", tmp_path / "fix.csv", "--quiet")
    assert "must name one of the annotators' classes" in said
    place = build_neighbor_graph(X, 8)
    W = place.graph.weights[place.vertex][:, place.vertex]
    sp.save_npz(tmp_path / "W.npz", sp.csr_matrix(W))
    siis.ok(*people, "--graph", tmp_path / "W.npz", "--out", tmp_path / "g", *QUICK)
    found = np.array([row["label"] for row in read_csv(tmp_path / "g" / "predictions.csv")])
    assert np.mean(found == truth) > 0.95
    assert "ready-made graph" in siis.refused("predict", tmp_path / "g", tmp_path / "people.csv")


def test_a_folder_of_images(siis, table, tmp_path):
    path, _, labels, truth = table
    X = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(2, 66))
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(80):
        Image.fromarray((X[i].reshape(8, 8) * 15).astype(np.uint8)).save(folder / f"img {i:02d}.png")
    write_csv(
        tmp_path / "labels.csv", ["file", "label"], [(f"img {i:02d}.png", labels[i]) for i in range(80) if labels[i]]
    )
    done = siis.ok("fit", folder, "--labels-file", tmp_path / "labels.csv", "--out", tmp_path / "out", *QUICK)
    rows = read_csv(tmp_path / "out" / "predictions.csv")
    assert rows[3]["id"] == "img 03.png"
    assert np.mean([row["label"] == t for row, t in zip(rows, truth, strict=False)]) > 0.9
    page = (tmp_path / "out" / "report.html").read_text()
    assert "data:image/png;base64," in page
    at = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))["map"]
    assert None not in at["thumbnails"]  # unlabelled images too
    done = siis.ok("predict", tmp_path / "out", folder, "--quiet")
    assert len(done.stdout.splitlines()) == 81


@pytest.mark.parametrize("command", ["fit", "predict", "explain", "corrections", "demo", "reproduce"])
def test_every_option_is_used_by_a_test_and_help_has_examples(siis, command):
    done = siis.ok(command, "--help")
    assert "Example" in done.stdout
    tests = "".join(p.read_text() for p in Path(__file__).parent.parent.rglob("test_*.py"))
    used = tests.replace('f"--{name}"', "")
    options = [o for p in typer.main.get_command(app).commands[command].params for o in p.opts if o.startswith("--")]
    assert len(options) > 1
    for option in options:
        name = option.removeprefix("--")
        assert f'"{option}"' in used or f'"{name}":' in used or f"{option} " in used, f"{command} {option}"


def test_a_fit_on_pytorch_gives_the_same_answers(siis, table, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: its engine is not tried")
    fitted(siis, table, tmp_path / "numpy")
    fitted(siis, table, tmp_path / "torch", "--engine", "torch", "--device", "cpu")
    one, other = (read_csv(tmp_path / name / "predictions.csv") for name in ("numpy", "torch"))
    assert [(row["id"], row["label"]) for row in one] == [(row["id"], row["label"]) for row in other]


def test_a_device_that_is_none_is_refused_in_a_sentence(siis, table, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: its engine is not tried")
    out, where = tmp_path / "x", ("--engine", "torch", "--device", "abacus")
    done = siis("fit", table[0], "--label", "label", "--id", "name", "--out", out, *QUICK, *where)
    assert done.exit_code != 0
    assert "--device abacus cannot be used here" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(out.iterdir()), "nothing half-written"


def test_demo(siis, tmp_path):
    done = siis.ok("demo", "--out", tmp_path / "demo", "--seed", 1)
    rows = re.findall(r" (?:un)?labelled examples \(.*\)\s+([\d.]+)%\s+([\d.]+)%", done.stdout)
    assert len(rows) == 2
    assert all(float(after) > float(before) + 20 for before, after in rows)
    assert re.search(r"Wrong labels found: \d+ of 80", done.stdout)
    assert done.stdout.count("report.html") == 1, "named once"
    assert done.stdout.rstrip().endswith(f"siis review {shlex.quote(str(tmp_path / 'demo'))}")
    assert "data:image/png;base64," in (tmp_path / "demo" / "report.html").read_text()


@pytest.fixture
def mails(tmp_path):
    """60 mails in two columns of text beside a price and a date, with labels as people write them."""
    rng = np.random.default_rng(0)
    words = (["cat", "dog", "mouse", "fur"], ["stock", "bond", "market", "price"])
    rows = []
    for i in range(60):
        said = [" ".join(rng.choice(words[i % 2], k)) for k in (6, 2)]
        label = ("Spam", "ham")[i % 2] if i % 3 else ("?", "-", "SPAM", "ham")[i % 4 if i % 4 < 2 else 2 + i % 2]
        rows.append((*said, f"${1000 + 500 * (i % 2) + i:,}", f"2024-{1 + i % 2:02d}-{1 + i % 28:02d}", label))
    path = tmp_path / "mails.csv"
    write_csv(path, ["body", "title", "price", "day", "label"], rows)
    return path


def test_what_is_read_can_be_said(siis, mails, tmp_path):
    out = tmp_path / "out"
    wishes = ["--text", "body", "title", "--unlabelled", "?", "-", "--merge-classes", "--label", "label"]
    done = siis.ok("fit", mails, "--out", out, *wishes, *LOUD)
    assert "taken for unlabelled (--unlabelled)" in done.stderr
    assert "other columns are used as well as the texts; --text-only leaves them out" in done.stderr
    assert "numbers: price ($)" in done.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert summary["options"]["roles"]["text"] == ["body", "title"]
    assert {row["label"] for row in read_csv(out / "predictions.csv")} == {"Spam", "ham"}
    corrected = tmp_path / "c.csv"
    write_csv(corrected, ["id", "label"], [("1", "Spam")])
    siis.ok("corrections", corrected, "--results", out)
    siis.ok("predict", out, mails, "--out", tmp_path / "p.csv")
    assert len(read_csv(tmp_path / "p.csv")) == 60
    alone = siis("fit", mails, "--out", out, "--label", "label", "--text", "body", "--text-only", *LOUD)
    assert "numbers: price" not in alone.stderr
    assert "if they mean no label: --unlabelled - '?'" in alone.stderr
    assert "--merge-classes makes one class of those in a bracket" in alone.stderr
    assert "y = [" not in alone.stdout + alone.stderr  # the remedy in Python


def test_options_that_a_summary_cannot_hold_are_refused():
    options = FitOptions("d.csv", Roles(label="kind", text=("body",)), parameters={"members": ["graph"]})
    found = json.loads(json.dumps(options.to_plain()))
    assert FitOptions.from_plain(found) == options
    for change in ({"text": 3}, {"text_only": "yes"}, {"unlabelled": "?"}, {"merge_classes": None}, {"more": 1}):
        with pytest.raises(ValueError, match=r"wrong type|exactly"):
            FitOptions.from_plain({**found, "roles": {**found["roles"], **change}})
    for more in ({"parameters": {"members": [[1]]}}, {"queries": "20"}, {"wanted": 1}, {"issue_columns": "x"}):
        with pytest.raises(ValueError, match=r"must be a text|wrong type|exactly|issue_columns must"):
            FitOptions.from_plain({**found, **more})


@pytest.mark.parametrize(("names", "option"), [(("-1", "0", "1"), [""]), (("nan", "none", "NA"), ["?"])])
def test_classes_may_be_called_as_missing_labels_are(siis, tmp_path, names, option):
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    X = rng.standard_normal((90, 2)) + 9 * np.stack([truth == 0, truth == 1], axis=1)
    cells = [names[k] if i % 2 else "" for i, k in enumerate(truth)]
    write_csv(tmp_path / "in.csv", ["label", "a", "b"], zip(cells, *X.T, strict=True))
    fit = ("fit", tmp_path / "in.csv", "--out", tmp_path / "out")
    siis.ok(*fit, "--unlabelled", *option, *QUICK)
    rows = read_csv(tmp_path / "out" / "predictions.csv")
    assert [row["label"] for row in rows] == [names[k] for k in truth]
    assert [row["given"] for row in rows] == cells
    siis("predict", tmp_path / "out", tmp_path / "in.csv", "--quiet", "--out", tmp_path / "new.csv")
    assert [row["label"] for row in read_csv(tmp_path / "new.csv")] == [names[k] for k in truth]
    write_csv(tmp_path / "fix.csv", ["id", "label"], [("1", names[1])])
    siis.ok("corrections", tmp_path / "fix.csv", "--results", tmp_path / "out", "--quiet")
    assert read_csv(tmp_path / "out" / "predictions.csv")[0]["label"] == names[1]


def test_several_files_and_a_row_of_names(siis, table, tmp_path):
    lines = table[0].read_text().splitlines(keepends=True)
    for name, part in (("one.csv", lines[1:101]), ("two.csv", lines[101:])):
        (tmp_path / name).write_text("".join(["Digits\n", "\n", lines[0], *part]))
    options = ("--label", "label", "--id", "name", *QUICK)
    siis.ok("fit", table[0], *options, "--out", tmp_path / "whole")
    expected = (tmp_path / "whole" / "predictions.csv").read_text()
    for k, data in enumerate([(tmp_path / "one.csv", tmp_path / "two.csv"), (tmp_path / "*.csv",)]):
        out = tmp_path / f"out{k}"
        done = siis.ok("fit", *data, *options, "--header-row", 3, "--out", out)
        assert (out / "predictions.csv").read_text() == expected
        summary = json.loads((out / "summary.json").read_text())
        assert "2 files: one.csv (100 rows), two.csv (100 rows)" in summary["understood"]
        assert summary["options"]["more"] == [str(tmp_path / "two.csv")]
        assert len(FitOptions.from_plain(summary["options"]).files) == 2
        write_csv(tmp_path / "fix.txt", ["id", "label"], [("digit 150", "0")])
        done = siis.ok("corrections", tmp_path / "fix.txt", "--results", out, "--quiet")
        assert read_csv(out / "predictions.csv")[150]["label"] == "0"
    done = siis.ok("predict", tmp_path / "whole", *data, "--header-row", 3, "--quiet")
    assert len(done.stdout.splitlines()) == 201
    assert "none*.csv: no file has such a name" in siis.refused(
        "fit", tmp_path / "none*.csv", *options, "--out", tmp_path / "no"
    )
    (tmp_path / "two.csv").unlink()
    assert "two.csv, must be where they were" in siis.refused(
        "corrections", tmp_path / "fix.txt", "--results", tmp_path / "out0"
    )
