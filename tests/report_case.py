"""Report data made by hand, hostile strings included."""

from siis.app.report.data import (
    Convergence,
    Counts,
    ExampleMap,
    Neighbor,
    Noise,
    Query,
    Reliability,
    ReportData,
    Selection,
    Suspect,
    Trust,
)

NASTY = (
    'say "hi", you',
    "two\nlines",
    "carriage\rreturn",
    "😀 emoji",
    "=cmd()",
    "<script>alert(1)</script>",
    "</script><script>window.__pwned = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.__pwned=1'>",
    "\u2028line\u2029paragraph",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;",
    "javascript:alert(1)",
    "__proto__",
    " spaces ",
    "\x00\x07control",
)
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
CLASSES = ("cat", "dog", "newt")


def make_report(
    n_suspects=12, classes=CLASSES, ids=None, texts=None, pictures=False, columns=(), n_queries=0, **changes
):
    """Suspect k has the quality k / (2 n), is given class k mod c and suggested the next one.

    Columns hold "value k" in example k, and in its neighbours too, but for the first column. Queries are to be
    labelled, every third one to be checked.
    """
    c = len(classes)
    ids = list(ids) if ids is not None else [f"example-{k:05d}" for k in range(n_suspects)]
    picture = DOT if pictures else None

    def cells(k, first):
        return [first, *[f"value {k}"] * (len(columns) - 1)] if columns else None

    def around(k, name):
        near = Neighbor(
            id=f"near {name}",
            snippet=None,
            thumbnail=picture,
            cells=cells(k, "other"),
            label=classes[(k + 1) % c],
            differs=[0] if columns else [],
        )
        return {"unusual": [0] if columns else [], "neighbors": [near] * 2}

    suspects = [
        Suspect(
            id=ids[k],
            given=classes[k % c],
            suggested=classes[(k + 1) % c],
            quality=round(k / (2 * n_suspects), 6),
            why=f"Close neighbours: 2 of class {classes[(k + 1) % c]}.",
            snippet=None if texts is None else texts[k],
            thumbnail=picture,
            cells=cells(k, "own"),
            **around(k, ids[k]),
        )
        for k in range(n_suspects)
    ]
    queries = [
        Query(
            id=f"query {k}",
            snippet=None,
            thumbnail=picture,
            cells=cells(k, "own"),
            action="check" if k % 3 == 2 else "label",
            gain=1 / (k + 1),
            given=classes[k % c] if k % 3 == 2 else None,
            classes=[classes[(k + i) % c] for i in range(min(c, 3))],
            probabilities=[0.4, 0.35, 0.25][: min(c, 3)],
            why="It would help.",
            **around(k, f"query {k}"),
        )
        for k in range(n_queries)
    ]
    fields = {
        "title": "A report",
        "source": "data.csv",
        "results": "my results",
        "classes": list(classes),
        "counts": Counts(n_suspects + c, n_suspects, 7, c, n_suspects, 0, c),
        "summary": ["A sentence."],
        "trust": Trust(1e-5, 1e-4, "certified", 20, 0.7, "good", 0.4, 0.3, 0.5, True, 1.0, "exact", 0, []),
        "reliability": Reliability(
            [0.0, 0.7, 0.9],
            [0.6, 0.8, 1.0],
            [10, 20, 70],
            [0.5, 0.75, 0.97],
            [0.4, 0.6, 0.943],
            [0.17, 0.39, 0.86],
            [0.69, 0.78, 0.98],
            [0.47, 0.65, 0.93],
        ),
        "noise": Noise([[0.8 if i == j else round(0.2 / (c - 1), 4) for j in range(c)] for i in range(c)], [0.2] * c),
        "selection": Selection(
            ["space", "accuracy", "chosen"], [["as given", 0.9, True], ["unit", None, False]], "so"
        ),
        "convergence": Convergence([0, 10, 20], [3.0, 2.0, 1.9], [None, 1.0, 1.8], [None, 0.1, 1e-5]),
        "map": make_map(n_suspects, classes, ids, picture),
        "suspects": suspects,
        "queries": queries,
        "columns": list(columns),
        "pictured": n_suspects if pictures else None,
        "tabled": n_suspects if columns else None,
    }
    return ReportData(**{**fields, **changes})


def make_map(n_suspects, classes, ids, picture=None):
    """Suspects on a grid in the lower half; one unlabelled example of each class far apart in the upper half."""
    c, side = len(classes), 100
    points = range(n_suspects)
    return ExampleMap(
        x=[97 * (k % side) for k in points] + [9999 * k // max(c - 1, 1) for k in range(c)],
        y=[4000 * k // max(n_suspects, 1) for k in points] + [9999] * c,
        ids=ids + [f"far {k}" for k in range(c)],
        predicted=[(k + 1) % c for k in points] + list(range(c)),
        given=[k % c for k in points] + [-1] * c,
        probability=[0.9] * n_suspects + [0.75] * c,
        suspect=[*points, *[-1] * c],
        snippets=[None] * n_suspects + [f"text {k}" for k in range(c)],
        thumbnails=[picture] * (n_suspects + c),
        placed=n_suspects + c,
        examples=n_suspects + c,
    )
