"""The documented loop with a running Label Studio: export, fit, import predictions, review, corrections.

It runs where the environment variable SIIS_LABEL_STUDIO names the program, of an environment of its own.
"""

import io
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from cli_case import read_csv
from siis import __version__
from tool_case import sentences

pytestmark = pytest.mark.slow

TOKEN = "0123456789abcdef0123456789abcdef01234567"
START = 400  # seconds, for its first start
CONFIG = """
<View>
  <Text name="txt" value="$text"/>
  <Choices name="topic" toName="txt"><Choice value="sport"/><Choice value="food"/></Choices>
</View>
"""


DIGITS = f"""
<View>
  <Image name="picture" value="$image"/>
  <Choices name="digit" toName="picture">{"".join(f'<Choice value="{k}"/>' for k in range(10))}</Choices>
</View>
"""


class Server:
    def __init__(self, port, folder):
        self.address, self.folder = f"http://127.0.0.1:{port}", folder

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.address + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
        )
        return self.answer(request)

    def upload(self, project, name, content):
        mark = "0123456789"
        head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: image/png'
        request = urllib.request.Request(
            f"{self.address}/api/projects/{project}/import",
            data=f"--{mark}\r\n{head}\r\n\r\n".encode() + content + f"\r\n--{mark}--\r\n".encode(),
            headers={"Authorization": f"Token {TOKEN}", "Content-Type": f"multipart/form-data; boundary={mark}"},
        )
        assert self.answer(request)["task_count"] == 1

    def answer(self, request):
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    def export(self, project, path=None):
        tasks = self.call("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
        if path is not None:
            path.write_text(json.dumps(tasks), encoding="utf-8")
        return tasks

    def sorted_by(self, project, column):
        view = {"project": project, "data": {"ordering": [column]}}
        number = self.call("POST", f"/api/dm/views?project={project}", view)["id"]
        return self.call("GET", f"/api/tasks?project={project}&view={number}&fields=all")["tasks"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Label Studio on this machine alone, with a data base of its own; nothing is sent to its makers."""
    if "SIIS_LABEL_STUDIO" not in os.environ:
        pytest.skip("Label Studio is not at hand: set SIIS_LABEL_STUDIO to its program, as in env/bin/label-studio")
    folder = tmp_path_factory.mktemp("label-studio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "DJANGO_DB": "sqlite",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "HOME": str(folder),
    }
    arguments = ["start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    arguments += ["--username", "me@example.org", "--password", "nine-long-words", "--user-token", TOKEN]
    with (folder / "log").open("wb") as log:
        program = subprocess.Popen(
            [os.environ["SIIS_LABEL_STUDIO"], *arguments, "--enable-legacy-api-token"],
            env={**os.environ, **settings},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    made = Server(port, folder)
    try:
        for _ in range(START):
            assert program.poll() is None, (folder / "log").read_text()[-2000:]
            try:
                made.call("GET", "/api/version")
                break
            except (urllib.error.URLError, OSError):
                time.sleep(1)
        yield made
    finally:
        program.terminate()
        program.wait(30)


def test_the_documented_loop(server, siis, tmp_path):
    texts, topics = sentences(60)
    project = server.call("POST", "/api/projects", {"title": "topics", "label_config": CONFIG})["id"]
    server.call("POST", f"/api/projects/{project}/import", [{"data": {"text": text}} for text in texts])
    numbers = {task["data"]["text"]: task["id"] for task in server.export(project)}
    for i, (text, topic) in enumerate(zip(texts, topics, strict=True)):
        label = "food" if i == 10 else topic  # that one is of sport
        result = {"from_name": "topic", "to_name": "txt", "type": "choices", "value": {"choices": [label]}}
        if i % 3:
            server.call("POST", f"/api/tasks/{numbers[text]}/annotations", {"result": [result]})
    export, reviewed, results = tmp_path / "export.json", tmp_path / "reviewed.json", tmp_path / "results"
    assert len(server.export(project, export)) == 60

    done = siis.ok("fit", export, "--out", results)
    wrong = str(numbers[texts[10]])
    predictions = json.loads((results / "predictions.json").read_text(encoding="utf-8"))
    assert server.call("POST", f"/api/projects/{project}/import/predictions", predictions) == {"created": 60}

    copy = server.call("POST", "/api/projects", {"title": "copy", "label_config": CONFIG})["id"]
    answers = json.loads((results / "answers.json").read_text(encoding="utf-8"))
    assert server.call("POST", f"/api/projects/{copy}/import", answers)["prediction_count"] == 60
    worst = server.sorted_by(copy, "-tasks:data.siis_suspicion")
    suspicions = [task["data"].get("siis_suspicion") for task in worst]
    known = [one for one in suspicions if one is not None]
    assert len(known) == 40
    assert suspicions[:40] == sorted(known, reverse=True)
    first = read_csv(results / "label_quality.csv")[0]["quality"]
    assert known[0] == pytest.approx(1 - float(first), abs=1e-3), "the worst label comes first"

    (given,) = next(task for task in server.export(project) if str(task["id"]) == wrong)["annotations"]
    given["result"][0]["value"]["choices"] = ["sport"]
    server.call("PATCH", f"/api/annotations/{given['id']}", {"result": given["result"]})
    assert isinstance(server.export(project, reviewed)[0]["predictions"][0], int), "they are numbers"
    server.export(copy, tmp_path / "copy.json")
    done = siis("corrections", tmp_path / "copy.json", "--results", results)
    assert done.exit_code == 1, "the copy has other numbers"
    assert "an id must name the same example as in the data" in done.stderr
    done = siis.ok("corrections", reviewed, "--results", results)
    again = {one["task"]: one for one in json.loads((results / "predictions.json").read_text(encoding="utf-8"))}
    assert again[int(wrong)]["result"][0]["value"]["choices"] == ["sport"]

    versions = f"/api/projects/{project}/model-versions/"
    former = {"model_version": f"siis {__version__}"}
    assert server.call("DELETE", versions, former) == {"deleted_predictions": 60}
    imported = server.call("POST", f"/api/projects/{project}/import/predictions", list(again.values()))
    assert imported == {"created": 60}
    assert server.call("GET", versions) == {f"siis {__version__}": 60}
    done = siis.ok("fit", reviewed, "--out", tmp_path / "second")


def test_uploaded_pictures(server, siis, tmp_path):
    X, y = load_digits(return_X_y=True)
    project = server.call("POST", "/api/projects", {"title": "digits", "label_config": DIGITS})["id"]
    for i in range(90):
        out = io.BytesIO()
        Image.fromarray((X[i].reshape(8, 8) * 15).astype(np.uint8)).resize((32, 32)).save(out, "PNG")
        server.upload(project, f"digit{i}.png", out.getvalue())
    truth = {}
    for task in server.export(project):
        i = int(task["data"]["image"].rpartition("-digit")[2].removesuffix(".png"))
        truth[str(task["id"])] = str(y[i])
        value = {"from_name": "digit", "to_name": "picture", "type": "choices", "value": {"choices": [str(y[i])]}}
        if i % 3:
            server.call("POST", f"/api/tasks/{task['id']}/annotations", {"result": [value]})
    export, results = tmp_path / "pictures.json", tmp_path / "results"
    server.export(project, export)
    (media,) = server.folder.glob("**/upload")
    done = siis.ok("fit", export, "--image-folder", media, "--out", results)
    assert "90 images" in done.stderr
    rows = read_csv(results / "predictions.csv")
    assert sum(row["label"] == truth[row["id"]] for row in rows) > 80
    predictions = json.loads((results / "predictions.json").read_text(encoding="utf-8"))
    assert server.call("POST", f"/api/projects/{project}/import/predictions", predictions) == {"created": 90}
    server.export(project, export)
    done = siis.ok("predict", results, export, "--image-folder", media, "--out", tmp_path / "new.csv")
    assert [row["label"] for row in read_csv(tmp_path / "new.csv")] == [row["label"] for row in rows]
