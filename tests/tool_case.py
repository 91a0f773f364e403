"""Files of labelling tools, written from their documented schemas."""

import json

WORDS = {"sport": "match goal team coach player", "food": "soup bread salt kitchen recipe"}


def sentences(n=40):
    """Texts of two topics in turn, with their topics."""
    topics = [("sport", "food")[i % 2] for i in range(n)]
    texts = []
    for i, topic in enumerate(topics):
        words = WORDS[topic].split()
        texts.append(
            f"The {words[i % 5]} and the {words[(i // 2 + 1) % 5]} of a {words[(i // 3 + 2) % 5]}, no. {i} ü"
        )
    return texts, topics


def annotation(label, by=1, question="topic", **more):
    """An annotation of Label Studio, with one choice."""
    result = {"from_name": question, "to_name": "txt", "type": "choices", "value": {"choices": [label]}, "id": "r1"}
    base = {"id": 7, "completed_by": by, "was_cancelled": False, "ground_truth": False, "result": [result]}
    return {**base, **more}


def tasks(n=40):
    """Tasks of Label Studio: two annotators, a skipped one, a wrong label, a ground truth, and unlabelled ones."""
    texts, topics = sentences(n)
    found = []
    for i, (text, topic) in enumerate(zip(texts, topics, strict=True)):
        given = [] if i % 4 == 3 else [annotation(topic, {"id": 1, "email": "ann@example.org"})]
        if i % 8 == 0:
            given.append(annotation(topic, {"id": 2, "email": "bob@example.org"}))
        found.append(
            {
                "id": 100 + i,
                "data": {"text": text, "source": {"page": i % 3}},
                "annotations": given,
                "meta": {"né": [1, None, "x"]},
                "inner_id": i,
            }
        )
    found[4]["annotations"] = [annotation("food", {"id": 1, "email": "ann@example.org"})]  # it is of sport
    found[1]["annotations"][0]["was_cancelled"] = True
    found[2]["annotations"][0]["ground_truth"] = True
    found[5]["predictions"] = [{"model_version": "other 1", "score": 0.3, "result": []}]
    return found


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")
    return path


def read_lines(content):
    return [json.loads(line) for line in content.decode().split("\n") if line]
