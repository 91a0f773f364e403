"""Files of labelling tools: what is understood, what is refused, what comes back."""

import gzip
import io
import json
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siis import __version__
from siis.tables import Roles, read
from siis.tables.checked_labels import read_checked
from siis.tables.sheet import read_sheet
from siis.tables.tools.tool_file import Answer
from tool_case import annotation, read_lines, sentences, tasks, write_json, write_lines

TEXTS, TOPICS = sentences()
PAIRS = list(zip(TEXTS, TOPICS, strict=True))


def answers(n):
    return [Answer("sport", 0.9, None if i % 2 else 0.25, i % 3 == 0) for i in range(n)]


def back(data):
    return data.written_back(answers(len(data.ids)))


def without(records, *names):
    """Records without some fields."""
    return [{name: value for name, value in one.items() if name not in names} for one in records]


def kinds_of(data):
    return {use.name: use.kind for use in data.columns}


def doccano():
    return [{"id": i, "text": text, "label": [topic]} for i, (text, topic) in enumerate(PAIRS)]


# --- Label Studio


def test_tasks_of_label_studio(tmp_path):
    data = read(write_json(tmp_path / "export.json", tasks()), Roles())
    assert data.ids == tuple(str(100 + i) for i in range(40))
    assert data.texts[0] == TEXTS[0]
    assert data.annotations.shape == (40, 2)
    assert data.annotations[0].tolist() == ["sport", "sport"]
    assert data.annotations[1].tolist() == [None, None], "skipped"
    assert data.annotations[4].tolist() == ["food", None]
    assert data.verified == {2: "sport"}
    kinds = kinds_of(data)
    assert kinds["ann@example.org"] == kinds["bob@example.org"] == "annotator"
    assert kinds["id"] == "id"
    assert kinds["source.page"] == "category" or kinds["source.page"] == "number"
    assert "1 annotation skipped" in data.notes
    assert "1 label marked as the truth: verified" in data.notes


def test_predictions_of_label_studio(tmp_path):
    found = tasks()
    written = back(read(write_json(tmp_path / "export.json", found), Roles()))
    assert list(written) == ["answers.json", "predictions.json"]
    assert "ü" in written["answers.json"].decode()
    done, alone = (json.loads(written[name]) for name in written)
    assert [one.pop("task") for one in alone] == [task["id"] for task in found]
    for task, former, ours in zip(done, found, alone, strict=True):
        assert ours["score"] == 0.9
        assert ours["model_version"] == f"siis {__version__}", "the data manager shows the scores of one version"
        (result,) = ours["result"]
        assert (result["from_name"], result["to_name"], result["type"]) == ("topic", "txt", "choices")
        assert result["value"] == {"choices": ["sport"]}
        assert task["predictions"] == [*former.get("predictions", []), ours]
        columns = {"siis_is_issue": task["data"]["siis_is_issue"], "siis_label": "sport", "siis_probability": 0.9}
        suspicion = {"siis_suspicion": 0.75} if "siis_suspicion" in task["data"] else {}
        assert task["data"] == {**former["data"], **suspicion, **columns}, "the data manager sorts by them"
        assert without([task], "predictions", "data") == without([former], "predictions", "data")
    assert done[0]["data"]["siis_is_issue"] is True
    assert "siis_suspicion" in done[0]["data"]
    assert "siis_suspicion" not in done[1]["data"], "null would be sorted before all numbers"
    (tmp_path / "again.json").write_bytes(written["answers.json"])
    again = read(tmp_path / "again.json", Roles())
    assert not any("siis" in use.name for use in again.columns), "answers are no features"
    assert back(again) == written, "our predictions are replaced, and no others"
    for task in found:
        del task["id"]
    assert list(back(read(write_json(tmp_path / "export.json", found), Roles()))) == ["answers.json"]


def test_an_export_of_a_project_with_predictions_and_drafts(tmp_path):
    """The usual export has the numbers of predictions, and of drafts in some versions."""
    found = tasks()
    for task in found:
        task["predictions"] = [301]
        task["drafts"] = [7]
    done = json.loads(back(read(write_json(tmp_path / "export.json", found), Roles()))["answers.json"])
    assert [len(task["predictions"]) for task in done] == [1] * 40, "an import refuses numbers"
    assert done[0]["drafts"] == [7]


def test_an_export_that_left_out_unlabelled_tasks(tmp_path):
    hint = "0 tasks without an annotation: the usual export of Label Studio leaves such tasks out"
    for found, is_hinted in (([task for task in tasks() if task["annotations"]], True), (tasks(), False)):
        notes = read(write_json(tmp_path / "export.json", found), Roles()).notes
        assert any(hint in note for note in notes) == is_hinted


def test_one_answer_for_each_example_is_a_label(tmp_path):
    found = [
        {"data": {"text": text}, "annotations": [annotation("None" if i % 2 else "x", i % 3)]}
        for i, text in enumerate(TEXTS)
    ]
    data = read(write_json(tmp_path / "export.json", found), Roles())
    assert data.annotations is None
    assert data.labels[:2].tolist() == ["x", "None"], "a choice is a label, whatever it is called"
    assert data.ids[0] == "1"
    assert data.rows.names == ("annotator",)
    assert data.rows[1] == ("annotator 1",)


def test_questions_of_label_studio(tmp_path, refusal):
    found = tasks()
    for task in found:
        task["annotations"].append(annotation("long", 3, "length"))
    found[0]["annotations"][-1]["result"].append(
        {"from_name": "many", "to_name": "txt", "type": "choices", "value": {"choices": ["a", "b"]}}
    )
    path = write_json(tmp_path / "export.json", found)
    assert "one question must be chosen; found 3: topic, length, many" in refusal(path, label=None)
    assert set(read(path, Roles(label="length")).labels) == {"long"}
    assert "task 1 (id 100): an example must have one label; many has 2" in refusal(path, label="many")
    assert read(path, Roles(label="topic")).annotations.shape == (40, 2)


def test_two_answers_of_one_annotator(tmp_path):
    found = [{"data": {"text": text}, "annotations": [annotation("x"), annotation("y")]} for text in TEXTS]
    data = read(write_json(tmp_path / "export.json", found), Roles())
    assert data.annotations[0].tolist() == ["x", "y"]


def change(k, **fields):
    """A change of the first annotation of task k."""
    return lambda found: found[k]["annotations"][0].update(fields)


def choose(found, choice):
    found[2]["annotations"][0]["result"][0]["value"]["choices"] = [choice]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.__setitem__(3, 5), "task 4: a task must be a JSON object; found 5"),
        (lambda t: t[3].pop("data"), "task 4 (id 103): the data of a task must be a JSON object"),
        (lambda t: t[2].update(annotations={}), "task 3 (id 102): annotations must be a JSON list"),
        (lambda t: t[2].update(annotations=["x"]), "task 3 (id 102): an annotation must be a JSON object"),
        (change(2, result=3), "task 3 (id 102): the result of an annotation must be"),
        (change(2, result=[3]), "task 3 (id 102): a result must be a JSON object"),
        (lambda t: t[0].update(predictions=1), "task 1 (id 100): predictions must be a JSON list"),
        (lambda t: t[0].update(predictions=["5"]), "(id 100): a prediction must be a JSON object; found '\"5\"'"),
        (lambda t: choose(t, {"a": 1}), "task 3 (id 102): a label must be a name or a number; found '{\"a\": 1}'"),
        (lambda t: choose(t, ["a", "b"]), "task 3 (id 102): a label must be a name or a number"),
        (lambda t: choose(t, float("nan")), "task 3 (id 102): a label must be a name or a number; found NaN"),
        (change(2, was_cancelled="false"), "was_cancelled must be true or false; found '\"false\"'"),
        (change(2, ground_truth=1), "102): ground_truth must be true or false; found 1"),
        (change(2, completed_by=[1]), "102): completed_by must be a number, a text"),
        (
            lambda t: t[2]["annotations"].append(annotation("food", 9, ground_truth=True)),
            "task 3 (id 102): one label must be the ground truth; found sport and food",
        ),
    ],
)
def test_tasks_that_are_none(tmp_path, refusal, change, said):
    found = tasks()
    change(found)
    assert said in refusal(write_json(tmp_path / "export.json", found), label=None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"data": {}},\n {"data": }]', "error at line 2, column 11"),
        ("3", "must hold a list of objects, tasks of Label Studio or records of Argilla"),
        ('[{"text": "a", "annotator": 1, "annotation_id": 2}]', "found JSON-MIN"),
        ('[{"a": ' + "9" * 5000 + "}]", "a whole number must have at most 4,300 digits"),
    ],
)
def test_json_that_is_none(write, refusal, text, said):
    assert said in refusal(write(text, "export.json"), label=None)


def test_csv_of_label_studio(write, refusal):
    own = ["annotation_id", "annotator", "created_at", "id", "lead_time"]
    rows = [
        (i, 1, f"2026-11-18T21:{i:02d}:47Z", 100 + i, i * 1.5, i % 3, text, one, f"2026-11-18T22:{i:02d}:47Z")
        for i, (text, one) in enumerate(PAIRS)
    ]
    header = [*own, "page", "text", "topic", "updated_at"]
    data = read(write([header, *rows]), Roles(label="topic"))
    assert data.ids[0] == "100"
    assert data.texts[0] == TEXTS[0]
    used = {use.name: use.kind for use in data.columns if use.kind != "left out"}
    assert used == {"id": "id", "page": "number", "text": "text", "topic": "label"}
    path = write([header, *rows, rows[-1]])
    assert "each task must have one row; found a row for each annotation" in refusal(path, label="topic")


# --- ids


def with_ids(folder, kind, ids):
    """A file of a tool whose examples have these ids."""
    if kind == "tasks":
        return write_json(folder / "a.json", [{**task, "id": id} for task, id in zip(tasks(), ids, strict=True)])
    if kind in ("doccano", "plain"):
        rows = [{**row, "id": id} for row, id in zip(doccano(), ids, strict=True)]
        for row in rows if kind == "plain" else ():
            row["label"] = row["label"][0]
        return write_lines(folder / "a.jsonl", rows)
    codes = [i % 2 for i in range(40)]
    table = argilla(id=ids) if kind == "argilla" else hugging_face(codes).append_column("id", pa.array(ids))
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize("kind", ["tasks", "doccano", "plain", "argilla", "hugging face"])
def test_ids_that_are_missing_or_repeated(tmp_path, refusal, kind):
    path = with_ids(tmp_path, kind, [*range(39), 38])
    assert "column id: ids must differ; 38 stands in rows 39 and 40" in refusal(path, label=None)
    path = with_ids(tmp_path, kind, [0, None, *range(2, 40)])
    assert "column id: every example must have an id; row 2 has none" in refusal(path, label=None)
    kinds = kinds_of(read(path, Roles(id="text", text=None)))
    assert kinds["id"] == "left out", "never compared by"
    assert kinds["text"] == "id"


def test_ids_that_are_no_names(tmp_path, refusal):
    rows = [{"id": [i, i], "text": text, "label": "x"} for i, text in enumerate(TEXTS)]
    assert "line 1: an id must be a number or a text" in refusal(write_lines(tmp_path / "a.jsonl", rows), label=None)
    for hashed in ({"_input_hash": None}, {"_input_hash": [1]}, {}):
        lines = [prodigy(text, topic) for text, topic in PAIRS]
        del lines[1]["_input_hash"]
        lines[1] |= hashed
        message = refusal(write_lines(tmp_path / "db.jsonl", lines), label=None)
        assert "line 2: each line must have a number or a text as _input_hash" in message


def test_a_file_without_an_answer(tmp_path, refusal):
    found = tasks()
    data = read(write_json(tmp_path / "export.json", found), Roles())
    for task in found:
        for one in task["annotations"]:
            one["was_cancelled"] = True
    skipped = write_json(tmp_path / "skipped.json", found)
    n = sum(len(task["annotations"]) for task in found)
    said = f"skipped.json: at least one example must be labelled; all annotations ({n}) were skipped. Label some"
    assert said in refusal(skipped, label=None)
    assert said in refusal(skipped, label="topic")
    with pytest.raises(ValueError, match="were skipped"):
        read_checked(skipped, Roles(), data)
    fresh = write_json(tmp_path / "fresh.json", [{"id": 1, "data": {"text": "a b"}}])
    assert "no task has an annotation" in refusal(fresh, label=None)
    spans = write_json(tmp_path / "spans.json", [{"data": {"text": "a b"}, "annotations": [{"result": []}]}])
    assert "no annotation has a choice" in refusal(spans, label=None)
    ignored = write_lines(tmp_path / "db.jsonl", [prodigy(text, answer="ignore") for text in TEXTS])
    assert "all lines (40) have no label, or were rejected or ignored" in refusal(ignored, label=None)
    empty = write_lines(tmp_path / "all.jsonl", [{"text": text, "label": []} for text in TEXTS])
    assert "all lines (40) have no label." in refusal(empty, label=None)
    none = {f"topic.responses{part}": [[]] * 40 for part in ("", ".users", ".status")}
    pq.write_table(argilla(**none), tmp_path / "a.parquet")
    assert "no response was submitted" in refusal(tmp_path / "a.parquet", label=None)


# --- a later export as corrections


def test_a_later_export_brings_what_was_checked(tmp_path):
    found = tasks()
    data = read(write_json(tmp_path / "export.json", found), Roles())
    found[4]["annotations"][0] = annotation("sport", {"id": 1, "email": "ann@example.org"})  # changed
    found[3]["annotations"] = [annotation("food", 9)]  # new
    found[6]["annotations"][0]["ground_truth"] = True  # kept, and marked
    checked = read_checked(write_json(tmp_path / "later.json", found), Roles(), data)
    assert checked == {"102": "sport", "104": "sport", "103": "food", "106": "sport"}
    found[4]["annotations"].append(annotation("music", 9))
    with pytest.raises(ValueError, match="104 has sport and music"):
        read_checked(write_json(tmp_path / "later.json", found), Roles(), data)
    found[39]["id"] = found[38]["id"]
    with pytest.raises(ValueError, match="ids must differ; 138 stands in rows 39 and 40"):
        read_checked(write_json(tmp_path / "later.json", found), Roles(), data)


def test_a_later_export_with_other_numbers(tmp_path):
    found = tasks()
    data = read(write_json(tmp_path / "export.json", found), Roles())
    found[4]["annotations"][0] = annotation("sport", {"id": 1, "email": "ann@example.org"})
    found[9]["data"]["text"] += " (edited)"  # its label is as it was
    found[4]["data"]["siis_label"] = "sport"
    later = write_json(tmp_path / "later.json", found)
    assert read_checked(later, Roles(), data)["104"] == "sport"
    for i, task in enumerate(found):
        task["id"] = 100 + (i + 3) % 40
    with pytest.raises(ValueError, match="an id must name the same example as in the data") as caught:
        read_checked(write_json(later, found), Roles(), data)
    assert "Fit this export itself with siis fit" in str(caught.value)


@pytest.mark.parametrize("kind", ["a file", "a folder", "pictures"])
def test_later_files_of_doccano_with_other_numbers(tmp_path, kind):
    rows = doccano()
    if kind == "pictures":
        rows = [{"id": i, "filename": f"{i}.png", "x": i % 5, "label": [one]} for i, one in enumerate(TOPICS)]
    first, later = (tmp_path / name / "ann.jsonl" for name in ("first", "later"))
    roles = Roles(features=("x",)) if kind == "pictures" else Roles()

    def place(path):
        return write_lines(path, rows) if kind == "a file" else write_lines(path, rows).parent

    data = read(place(first), roles)
    rows[5]["label"] = ["sport"]
    assert read_checked(place(later), roles, data) == {"5": "sport"}
    for i, row in enumerate(rows):
        row["id"] = (i + 1) % 40
    with pytest.raises(ValueError, match="an id must name the same example as in the data"):
        read_checked(place(later), roles, data)


def test_an_export_in_which_nothing_was_checked(tmp_path):
    found = tasks()
    found[2]["annotations"][0]["ground_truth"] = False
    path = write_json(tmp_path / "export.json", found)
    with pytest.raises(ValueError, match="found none that is marked as the truth"):
        read_checked(path, Roles(), read(path, Roles()))


def test_the_export_of_another_tool_is_no_later_one(tmp_path, write):
    export = write_json(tmp_path / "export.json", tasks())
    rows = "".join(f"{100 + i},{text.split(',')[0]},{one}\n" for i, (text, one) in enumerate(PAIRS))
    table = write("key,text,label\n" + rows)
    with pytest.raises(ValueError, match="the data are a file of no labelling tool"):
        read_checked(export, Roles(), read(table, Roles(text="text")))
    found = [{**task, "data": {**task["data"], "key": task["id"]}, "id": i} for i, task in enumerate(tasks())]
    later = write_json(tmp_path / "later.json", found)
    roles = Roles(id="key", text="text")
    assert read_checked(later, roles, read(table, roles))["104"] == "food", "ids that both have"
    renamed = write("id" + table.read_text(encoding="utf-8").removeprefix("key"))
    roles = Roles(id="id", text="text")
    with pytest.raises(ValueError, match="the data are a file of no labelling tool"):
        read_checked(export, roles, read(renamed, roles))  # the id is a number that the tool gave


def test_corrections_of_prodigy_are_all_checked(tmp_path, write):
    data = read(write("id,text,label\n5,some words,x\n6,other words,y\n7,no words,\n"), Roles(id="id", text="text"))
    lines = [
        {"id": 5, "text": "some words", "label": "x", "answer": "accept"},
        {"id": 6, "text": "c d", "label": "y", "answer": "ignore"},
    ]
    assert read_checked(write_lines(tmp_path / "review.jsonl", lines), Roles(), data) == {"5": "x"}


# --- JSONL


def test_plain_lines(tmp_path):
    rows = [
        {
            "id": f"n{i}",
            "text": text,
            "label": topic if i < 20 else None,
            "x": i / 7,
            "vector": [i % 7, 2.5 * i % 3],
            "deep": {"on": True},
            "tags": ["a"] * (i % 3),
        }
        for i, (text, topic) in enumerate(PAIRS)
    ]
    path = write_lines(tmp_path / "data.jsonl", rows)
    data = read(path, Roles())
    assert data.ids[:2] == ("n0", "n1")
    assert data.labels[:2].tolist() == ["sport", "food"]
    assert data.labels[20] is None
    kinds = kinds_of(data)
    assert kinds["text"] == "text"
    assert kinds["x"] == kinds["vector.0"] == kinds["vector.1"] == "number"
    assert kinds["deep.on"] == "left out"
    assert "fields that hold lists are left out: tags" in data.notes
    done = read_lines(back(data)["answers.jsonl"])
    assert without(done, "siis") == rows
    assert done[0]["siis"] == {"label": "sport", "probability": 0.9, "quality": 0.25, "is_issue": True}
    (tmp_path / "again.jsonl").write_bytes(back(data)["answers.jsonl"])
    again = read(tmp_path / "again.jsonl", Roles())
    assert not any(use.name.startswith("siis") for use in again.columns), "answers are no features"
    assert back(again) == back(data)
    (tmp_path / "data.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(tmp_path / "data.jsonl.gz", Roles()).ids == data.ids


def test_plain_objects_in_a_list(tmp_path):
    rows = [{"text": text, "label": topic} for text, topic in PAIRS]
    data = read(write_json(tmp_path / "data.json", rows), Roles())
    assert data.labels.tolist() == TOPICS
    assert [one["text"] for one in json.loads(back(data)["answers.json"])] == TEXTS


def test_one_file_of_doccano(tmp_path):
    rows = [
        {"id": 3 * i, "text": text, "label": [topic] if i % 2 else [], "Comments": []}
        for i, (text, topic) in enumerate(PAIRS)
    ]
    data = read(write_lines(tmp_path / "all.jsonl", rows), Roles())
    assert data.labels[:4].tolist() == [None, "food", None, "food"]
    assert data.ids[1] == "3"
    assert [one["label"] for one in read_lines(back(data)["answers.jsonl"])] == [row["label"] for row in rows]


def test_a_file_of_doccano_for_each_annotator(tmp_path):
    rows = doccano()
    folder = tmp_path / "export"
    write_lines(folder / "ann.jsonl", rows[:30])
    write_lines(folder / "bob.jsonl", [{**row, "label": ["food"], "note": "é"} for row in rows[:9:-1]])
    data = read(folder, Roles())
    assert data.ids == tuple(map(str, [*range(30), *range(39, 29, -1)]))
    assert data.annotations[10].tolist() == ["sport", "food"]
    assert data.annotations[5].tolist() == ["food", None]
    assert data.annotations[30].tolist() == [None, "food"]
    written = back(data)
    assert sorted(written) == ["answers.ann.jsonl", "answers.bob.jsonl"]
    done = read_lines(written["answers.bob.jsonl"])
    assert [one["id"] for one in done] == [row["id"] for row in rows[:9:-1]]
    assert done[0]["note"] == "é"
    assert {use.kind for use in data.columns if use.name in ("ann", "bob")} == {"annotator"}


def test_an_archive_of_doccano(tmp_path, refusal):
    rows = doccano()
    folder = tmp_path / "export"
    write_lines(folder / "ann.jsonl", rows[:30])
    write_lines(folder / "unknown.jsonl", [{**row, "label": []} for row in rows[30:]])
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    data = read(tmp_path / "export.zip", Roles())
    same = read(folder, Roles())
    assert data.ids == same.ids
    assert data.labels.tolist() == same.labels.tolist()
    assert back(data) == back(same)
    write_lines(folder / "ann.jsonl", [{"id": 1, "text": "a b", "label": [["x"]]}])
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.write(folder / "ann.jsonl", "ann.jsonl")
    assert "bad.zip/ann.jsonl, line 1: a label must be" in refusal(tmp_path / "bad.zip", label=None)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("export.csv", "a,b")
    assert "must hold JSONL or JSON files of different names" in refusal(tmp_path / "other.zip", label=None)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("._ann.jsonl", "{}")
    assert "must hold JSONL or JSON files of different names" in refusal(tmp_path / "other.zip", label=None)
    (tmp_path / "cut.zip").write_bytes((tmp_path / "export.zip").read_bytes()[:200])
    assert "must be a ZIP file but cannot be read as one" in refusal(tmp_path / "cut.zip", label=None)


@pytest.mark.parametrize(("write", "suffix"), [(write_json, "json"), (write_lines, "jsonl")])
def test_answers_in_a_folder_of_doccano(tmp_path, refusal, write, suffix):
    """Its JSON has a list for each annotator."""
    write(tmp_path / f"ann.{suffix}", doccano())
    write(tmp_path / f"bob.{suffix}", [{**row, "label": []} for row in doccano()])
    data = read(tmp_path, Roles())
    assert data.labels.tolist() == TOPICS
    written = back(data)
    assert sorted(written) == [f"answers.ann.{suffix}", f"answers.bob.{suffix}"]
    for name, content in written.items():
        (tmp_path / name).write_bytes(content)
    assert back(read(tmp_path, Roles())) == written, "answers in the folder of the export are not read"
    if suffix == "json":
        assert json.loads(written["answers.ann.json"])[3]["siis"]["label"] == "sport"
        write_json(tmp_path / "eve.json", {})
        assert "eve.json: must hold a list of objects" in refusal(tmp_path, label=None)


def test_files_of_doccano_that_do_not_belong_together(tmp_path, refusal):
    folder = tmp_path / "export"
    write_lines(folder / "ann.jsonl", [{"id": 1, "text": "a b", "label": ["x"]}])
    write_lines(
        folder / "bob.jsonl", [{"id": 2, "text": "c d", "label": ["x"]}, {"id": 1, "text": "e f", "label": []}]
    )
    assert "bob.jsonl, line 2: lines with the same id must be about the same example" in refusal(folder, label=None)
    write_lines(folder / "bob.jsonl", [{"label": ["x"]}])
    assert "bob.jsonl, line 1: each line must have an id or a text" in refusal(folder, label=None)


def prodigy(text, label="sport", answer="accept", who="ann", **more):
    base = {"text": text, "_input_hash": hash(text) % 10**6, "_task_hash": 5, "label": label, "answer": answer}
    return {**base, "_annotator_id": f"db-{who}", "meta": {"score": 0.5}, **more}


def test_prodigy_with_two_labels(tmp_path):
    rows = [prodigy(text, topic) for text, topic in PAIRS]
    rows[3]["answer"], rows[4]["answer"] = "ignore", "reject"
    rows.append(prodigy(TEXTS[0], "food", who="bob"))
    data = read(write_lines(tmp_path / "db.jsonl", rows), Roles())
    assert len(data.ids) == 40
    assert data.ids[0] == str(rows[0]["_input_hash"])
    assert data.annotations[0].tolist() == ["sport", "food"]
    assert data.annotations[3].tolist() == data.annotations[4].tolist() == [None, None]
    assert "2 lines without a label, or rejected or ignored" in data.notes
    kinds = kinds_of(data)
    assert kinds["meta.score"] == "left out"
    assert not {"answer", "_task_hash", "label"} & set(kinds)
    done = read_lines(back(data)["answers.jsonl"])
    assert len(done) == 41
    assert done[0]["siis"] == done[40]["siis"]
    assert without(done, "siis") == rows


def test_prodigy_with_two_texts_of_one_hash(tmp_path, refusal):
    rows = [prodigy(text, topic) for text, topic in PAIRS]
    rows[3]["_input_hash"] = rows[1]["_input_hash"]
    message = refusal(write_lines(tmp_path / "db.jsonl", rows), label=None)
    assert "line 4: lines with the same _input_hash must be about the same example" in message


def test_prodigy_with_one_label(tmp_path):
    rows = [prodigy(text, "sport", "accept" if topic == "sport" else "reject") for text, topic in PAIRS]
    data = read(write_lines(tmp_path / "db.jsonl", rows), Roles())
    assert data.labels[:2].tolist() == ["sport", "not sport"]


def test_prodigy_with_choices_and_sounds(tmp_path, refusal):
    rows = [
        {
            "text": text,
            "audio": "data:audio/mpeg;base64,AAAA",
            "options": [{"id": "sport"}, {"id": "food"}],
            "accept": [topic],
            "answer": "accept",
            "_session_id": "s",
        }
        for text, topic in PAIRS
    ]
    rows[1]["accept"], rows[2]["answer"] = [], "reject"
    data = read(write_lines(tmp_path / "db.jsonl", rows), Roles())
    assert data.labels[:4].tolist() == ["sport", None, None, "food"]
    assert "fields that hold files are left out: audio" in data.notes
    rows[5]["accept"] = ["sport", "food"]
    message = refusal(write_lines(tmp_path / "db.jsonl", rows), label=None)
    assert "line 6: an example must have one label; label has 2, sport and food" in message
    rows[5] = {**rows[5], "accept": ["food"], "answer": "maybe"}
    assert "line 6: answer must be accept, reject, ignore; found maybe" in refusal(
        write_lines(tmp_path / "db.jsonl", rows), label=None
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 3: must be JSON; found an error at column 2"),
        ("[1]", "line 3: each line must be a JSON object; found '[1]'"),
        ('{"label": "x", "siis": 3}', "line 3: the field siis is kept for answers"),
        ('{"text": "a", "label": [[0, 3, "ORG"]]}', "line 3: a label must be a name or a number"),
        ('{"text": "a", "label": ["x", "y"]}', "line 3: an example must have one label"),
    ],
)
def test_lines_that_are_none(write, refusal, line, said):
    good = '{"text": "some words", "label": ["x"]}\n\n'
    assert said in refusal(write(good + line + "\n", "data.jsonl"), label=None)


def test_lines_of_another_encoding(write, refusal):
    text = '{"text": "größe", "label": "x"}\n{"text": "kleine", "label": "y"}\n'
    assert "line 1: the text must be utf-8" in refusal(write(text.encode("latin-1"), "data.jsonl"), label=None)
    assert read(write(text.encode("latin-1"), "data.jsonl"), Roles(encoding="latin-1")).texts[0] == "größe"
    assert "is empty" in refusal(write("\n\n", "data.jsonl"))


# --- Parquet of Argilla and Hugging Face


def argilla(**more):
    n = len(TEXTS)
    return pa.table(
        {
            "id": [f"r{i}" for i in range(n)],
            "status": ["completed"] * n,
            "_server_id": [f"s{i}" for i in range(n)],
            "text": TEXTS,
            "topic.responses": [[topic, "food"] if i % 3 == 0 else [topic] for i, topic in enumerate(TOPICS)],
            "topic.responses.users": [["u1", "u2"] if i % 3 == 0 else ["u1"] for i in range(n)],
            "topic.responses.status": [
                ["submitted", "discarded" if i == 0 else "submitted"]
                if i % 3 == 0
                else ["draft" if i == 1 else "submitted"]
                for i in range(n)
            ],
            "topic.suggestion": ["theirs" if i == 2 else None for i in range(n)],
            "topic.suggestion.score": pa.nulls(n),
            "topic.suggestion.agent": ["bot" if i == 2 else None for i in range(n)],
            **more,
        }
    )


def test_responses_of_argilla(tmp_path):
    pq.write_table(argilla(), tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", Roles())
    assert data.ids[0] == "r0"
    assert data.annotations[0].tolist() == ["sport", None], "discarded"
    assert data.annotations[1].tolist() == [None, None], "a draft"
    assert data.annotations[6].tolist() == ["sport", "food"]
    assert "2 responses not submitted, or discarded: skipped" in data.notes
    used = {use.name for use in data.columns if use.kind not in ("left out", "annotator", "id")}
    assert used == {"text"}
    (tmp_path / "b.parquet").write_bytes(back(data)["answers.parquet"])
    done = pq.read_table(tmp_path / "b.parquet")
    assert done["topic.suggestion"].to_pylist()[:3] == ["sport", "sport", "theirs"]
    assert done["topic.suggestion.score"].to_pylist()[:3] == [0.9, 0.9, None]
    assert done["siis.quality"].to_pylist()[:2] == [0.25, None]
    kept = [name for name in argilla().column_names if ".suggestion" not in name]
    assert done.select(kept).equals(argilla().select(kept))
    again = read(tmp_path / "b.parquet", Roles())
    assert back(again) == back(data)


def argilla_records(n=40):
    """As ``to_json`` of the client of Argilla 2.8 writes them (seen in files of its own code)."""
    records = []
    for i, (text, topic) in enumerate(zip(TEXTS[:n], TOPICS[:n], strict=True)):
        said = [] if i % 3 == 2 else [{"value": topic, "user_id": "u1"}]
        said += [{"value": "food", "user_id": "u2"}] if i % 6 == 0 else []
        other = {"topic": {"value": "theirs", "score": 0.3, "agent": "bot"}} if i == 2 else {}
        rest = {"vectors": {"v": [0.1, 0.2]}, "status": "pending", "_server_id": None}
        answers = {"topic": said} if said else {}
        head = {"id": f"r{i}", "fields": {"text": text}, "metadata": {"page": i}}
        records.append({**head, "suggestions": other, "responses": answers, **rest})
    return records


def test_json_records_of_argilla(tmp_path):
    data = read(write_json(tmp_path / "a.json", argilla_records()), Roles())
    assert data.ids[:2] == ("r0", "r1")
    assert data.texts[0] == TEXTS[0]
    assert data.annotations[0].tolist() == ["sport", "food"]
    assert data.annotations[2].tolist() == [None, None]
    assert any("does not say which responses were submitted" in note for note in data.notes)
    used = {use.name for use in data.columns if use.kind not in ("left out", "annotator", "id")}
    assert used == {"text"}
    written = back(data)
    done = json.loads(written["answers.json"])
    assert done[0]["suggestions"] == {"topic": {"value": "sport", "score": 0.9, "agent": f"siis {__version__}"}}
    assert done[2]["suggestions"]["topic"]["value"] == "theirs"
    assert done[1]["siis"]["label"] == "sport"
    assert without(done, "siis", "suggestions") == without(argilla_records(), "suggestions")
    (tmp_path / "b.json").write_bytes(written["answers.json"])
    assert back(read(tmp_path / "b.json", Roles())) == written


def test_json_records_of_argilla_with_ratings_and_lists(tmp_path, refusal):
    found = argilla_records()
    for i, record in enumerate(found):
        record["responses"] = {
            "stars": [{"value": i % 2 + 3, "user_id": "u1"}],
            "tags": [{"value": ["a", "b"], "user_id": "u1"}],
        }
    path = write_json(tmp_path / "a.json", found)
    assert "one question must be chosen; found 2: stars, tags" in refusal(path, label=None)
    assert "record 1: an example must have one label" in refusal(path, label="tags")
    data = read(path, Roles(label="stars"))
    done = json.loads(data.written_back([Answer("4", 0.9, None, False)] * 40)["answers.json"])
    assert done[0]["suggestions"]["stars"]["value"] == 4
    for record in found:
        record["responses"] = {}
    assert "no record has a response" in refusal(write_json(tmp_path / "a.json", found), label=None)
    found[1]["responses"] = {"topic": "sport"}
    assert "record 2: the responses to topic must be a JSON list" in refusal(write_json(path, found), label=None)


def test_later_json_records_of_argilla_of_other_texts(tmp_path):
    data = read(write_json(tmp_path / "a.json", argilla_records()), Roles())
    found = argilla_records()
    for one, text in zip(found, TEXTS[1:] + TEXTS[:1], strict=True):
        one["fields"] = {"text": text}
        one["responses"] = {"topic": [{"value": "sport", "user_id": "u1"}]}
    with pytest.raises(ValueError, match=r"later\.json.*r\d+"):
        read_checked(write_json(tmp_path / "later.json", found), Roles(), data)


def suggested(names, codes, **more):
    """Argilla's own code writes suggestions as numbers of the classes that were suggested, None among them."""
    features = {"text": {"dtype": "string", "_type": "Value"}}
    features["topic.suggestion"] = {"names": names, "_type": "ClassLabel"}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return argilla(**{"topic.suggestion": codes, **more}).replace_schema_metadata(metadata)


def test_suggestions_of_argilla_as_numbers(tmp_path):
    """One class alone was suggested, and by us, but for the third record: all classes are suggested now."""
    agents = ["bot" if i == 2 else "siis 0.1" if i < 20 else None for i in range(40)]
    pq.write_table(
        suggested(["sport", None], [0 if agent else 1 for agent in agents], **{"topic.suggestion.agent": agents}),
        tmp_path / "a.parquet",
    )
    data = read(tmp_path / "a.parquet", Roles())
    written = data.written_back([Answer("food", 0.9, None, False)] * 40)["answers.parquet"]
    (tmp_path / "b.parquet").write_bytes(written)
    done = pq.read_table(tmp_path / "b.parquet")
    assert done["topic.suggestion"].to_pylist()[:4] == ["food", "food", "sport", "food"]
    features = json.loads(done.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["topic.suggestion"] == {"dtype": "string", "_type": "Value"}
    again = read(tmp_path / "b.parquet", Roles())
    assert again.written_back([Answer("food", 0.9, None, False)] * 40)["answers.parquet"] == written


def test_ratings_of_argilla_without_a_suggestion(tmp_path):
    users = {"stars.responses.users": [["u1"]] * 40, "stars.responses.status": [["submitted"]] * 40}
    table = pa.table({"text": TEXTS, "stars.responses": [[i % 2 + 3] for i in range(40)], **users})
    pq.write_table(table, tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", Roles())
    written = data.written_back([Answer("4", 0.9, None, False)] * 40)["answers.parquet"]
    assert pq.read_table(io.BytesIO(written))["stars.suggestion"].to_pylist() == [4] * 40


def test_responses_of_argilla_that_are_no_label(tmp_path, refusal):
    table = argilla(**{"tags.responses": [[["a", "b"]]] * 40, "tags.responses.users": [["u1"]] * 40})
    pq.write_table(table, tmp_path / "a.parquet")
    assert "one question must be chosen" in refusal(tmp_path / "a.parquet", label=None)
    assert "row 1: an example must have one label" in refusal(tmp_path / "a.parquet", label="tags")
    pq.write_table(argilla(**{"topic.responses.users": [["u1"]] * 40}), tmp_path / "a.parquet")
    assert "row 1: topic must have a user and a status for each of its 2 responses" in refusal(tmp_path / "a.parquet")


def hugging_face(codes):
    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": {"names": ["sport", "food"], "_type": "ClassLabel"},
    }
    metadata = {"huggingface": json.dumps({"info": {"features": features}, "fingerprint": "x"})}
    return pa.table({"text": TEXTS, "label": codes}).replace_schema_metadata(metadata)


def test_class_labels_of_hugging_face(tmp_path, refusal):
    codes = [-1, 1, *[i % 2 for i in range(38)]]
    pq.write_table(hugging_face(codes), tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", Roles())
    assert data.labels[:4].tolist() == [None, "food", "sport", "food"]
    (tmp_path / "b.parquet").write_bytes(back(data)["answers.parquet"])
    done = pq.read_table(tmp_path / "b.parquet")
    assert done["label"].to_pylist() == codes
    features = json.loads(done.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["label"]["names"] == ["sport", "food"]
    assert features["siis.label"] == {"dtype": "string", "_type": "Value"}
    assert back(read(tmp_path / "b.parquet", Roles())) == back(data)
    pq.write_table(hugging_face([7, *codes[1:]]), tmp_path / "a.parquet")
    assert "row 1: column label must hold numbers of its 2 classes; found 7" in refusal(tmp_path / "a.parquet")


# --- XLSX


def workbook(path):
    book = openpyxl.Workbook()
    book.active.title = "June"
    book.active.append(["nothing"])
    page = book.create_sheet("July")
    page.append(["price", "kind", "mixed", None])
    for i in range(20):
        page.append([i * 1.5, ("cat", "dog", None)[i % 3], i if i % 2 else "é", None])
    page.append([None, " ", None, None])
    book.save(path)
    return path


def test_a_sheet_of_a_workbook(tmp_path, write, refusal):
    path = workbook(tmp_path / "book.xlsx")
    sheet = read_sheet(path, Roles(sheet="July"))
    assert list(sheet.columns) == ["price", "kind", "mixed"]
    assert sheet.n == 20
    assert sheet.columns["mixed"].to_pylist()[:2] == ["é", "1"]
    data = read(path, Roles(label="kind", sheet="July"))
    assert data.labels[:3].tolist() == ["cat", "dog", None]
    assert np.array_equal(data.X[:3, 0], [0, 1.5, 3])
    assert any("not read: June" in note for note in data.notes)
    assert "no rows" in refusal(path)
    assert "found none named Juli. Did you mean July?" in refusal(path, sheet="Juli")
    assert "encoding is for CSV" in refusal(path, encoding="latin-1")
    (tmp_path / "no.xlsx").write_bytes(b"PK")
    assert "must be an XLSX file but cannot be read as one" in refusal(tmp_path / "no.xlsx")
    assert "for XLSX files only" in refusal(write("a,kind\n1,x\n"), sheet="July")


def test_a_workbook_without_the_library(tmp_path, refusal, monkeypatch):
    monkeypatch.setattr("siis.tables.workbook.find_spec", lambda name: None)
    assert "pip install 'siis[xlsx]'" in refusal(workbook(tmp_path / "book.xlsx"))


# --- whatever stands in the files comes back

NAMES = st.text(max_size=6).filter(lambda name: name != "siis")
LEAVES = st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES, lambda one: st.lists(one, max_size=3) | st.dictionaries(NAMES, one, max_size=3), max_leaves=6
)
SURROGATES = st.text(st.characters(), max_size=4)  # halves of pairs among them
FIELDS = st.dictionaries(
    st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=5).map(
        lambda name: f"u_{name}"
    ),
    VALUES | SURROGATES,
    max_size=4,
)
LABELS = st.sampled_from(["Ä b", "-", "0", "None", "日本"])


def check_same(path, written, sheet):
    """What was written is read as the file before it."""
    path.write_bytes(written)
    again = read_sheet(path)
    assert list(again.columns) == list(sheet.columns)
    for name, column in sheet.columns.items():
        assert again.columns[name].to_pylist() == column.to_pylist()
    for part in ("id", "questions", "verified"):
        assert getattr(again.metadata, part) == getattr(sheet.metadata, part)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(FIELDS, LABELS | st.none()), min_size=2, max_size=6),
    kind=st.sampled_from(["plain", "doccano", "prodigy"]),
)
def test_lines_lose_nothing(tmp_path_factory, rows, kind):
    folder = tmp_path_factory.mktemp("lines")
    lines = []
    for i, (fields, label) in enumerate(rows):
        own = {"id": i, "text": f"two words {i}"}
        if kind == "plain":
            own |= {"label": label}
        elif kind == "doccano":
            own |= {"label": [] if label is None else [label]}
        else:
            own |= {"_input_hash": -i, "label": label or "x", "answer": "ignore" if label is None else "accept"}
            own |= {"_annotator_id": f"é {i % 2}"}
        lines.append({**fields, **own})
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    sheet = read_sheet(path)
    written = sheet.origin(None, answers(sheet.n))["answers.jsonl"]
    done = read_lines(written)
    assert [one.pop("siis")["label"] for one in done] == ["sport"] * len(lines)
    assert json.dumps(done) == json.dumps(lines), "fields, their order and their types"
    check_same(folder / "b.jsonl", written, sheet)


ANNOTATIONS = st.lists(
    st.tuples(LABELS, st.sampled_from([1, 2, None, {"email": "é@x.org"}]), st.booleans(), st.booleans()), max_size=3
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(FIELDS, FIELDS, ANNOTATIONS), min_size=1, max_size=5))
def test_tasks_lose_nothing(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("tasks")
    found = []
    for i, (fields, data, given_to) in enumerate(rows):
        made = []
        for k, (label, by, skipped, truth) in enumerate(given_to):
            made.append(annotation(label, by, was_cancelled=skipped, ground_truth=truth and k == 0))
        found.append(
            {**fields, "id": f"t{i}", "data": {**data, "text": "a b"}, "annotations": made, "predictions": []}
        )
    path = write_text(folder / "a.json", found)
    sheet = read_sheet(path)
    written = sheet.origin("topic", answers(sheet.n))["answers.json"]
    done = json.loads(written)
    assert [len(task["predictions"]) for task in done] == [1] * len(found)
    for task in done:
        task["predictions"].clear()
        task["data"] = {name: value for name, value in task["data"].items() if not name.startswith("siis_")}
    assert json.dumps(done) == json.dumps(found)
    check_same(folder / "b.json", written, sheet)
    said = [one for _, _, made in rows for one in made if not one[2]]
    columns = sheet.metadata.questions.get("topic", ())
    assert sum(len(sheet.columns[name]) - sheet.columns[name].null_count for name in columns) == len(said)
    n_verified = sum(1 for _, _, made in rows if made and made[0][3] and not made[0][2])
    assert len(sheet.metadata.verified.get("topic", ())) == n_verified


def places(value, place=()):
    """Where something stands in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in items:
        yield (*place, name)
        yield from places(one, (*place, name))


def broken(value, draw):
    """The same JSON with something else in one place."""
    *way, last = draw(st.sampled_from(list(places(value))))
    inner = value
    for name in way:
        inner = inner[name]
    inner[last] = draw(VALUES)
    return value


def samples():
    lines = [prodigy(text, accept=["x"]) for text in TEXTS[:3]]
    plain = [{"id": i, "text": text, "label": ["x"]} for i, text in enumerate(TEXTS[:3])]
    return {"tasks.json": tasks(6), "prodigy.jsonl": lines, "plain.jsonl": plain}


@settings(max_examples=150, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(samples())))
def test_a_broken_file_is_read_or_refused_in_a_sentence(tmp_path_factory, data, name):
    path = tmp_path_factory.mktemp("broken") / name
    value = broken(samples()[name], data.draw)
    if name.endswith("l"):
        path.write_text("".join(json.dumps(one) + "\n" for one in value))
    else:
        write_text(path, value)
    message = None
    try:
        back(read(path, Roles()))
    except ValueError as problem:
        message = f"{type(problem).__name__} {problem}"
    assert message is None or message.startswith(f"ValueError {path}"), message
    assert message is None or message.endswith((".", "?")), message


def write_text(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
