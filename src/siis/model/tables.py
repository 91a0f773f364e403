"""What was tried and averaged, as tables and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siis._types import Floats
from siis.model.average import Average
from siis.model.config import FOREST
from siis.model.link import MemberLabels
from siis.model.members import Member
from siis.result_table import Table

TOGETHER, PROGRAM = "together", "program"
TOO_FEW = "nothing could be chosen: no label can be held out (a class needs two of them); all members count alike"
FAMILY_COLUMNS = ("family", "weight", "accuracy")
MEMBER_COLUMNS = (
    "member",
    "space",
    "n_neighbors",
    "connectivity",
    "kernel_weight",
    "fidelity",
    "log_likelihood",
    "accuracy",
    "error",
    "weight",
    "chosen",
)


def member_table(members: Sequence[Member], mean: Average, labels: MemberLabels) -> Table:
    """Everything that was tried, best first."""
    weights = zip(mean.ensemble.members, mean.ensemble.plan.member_weights(), strict=True)
    weight = {id(m): share for m, share in weights}
    rows: list[dict[str, Any]] = []
    for m in sorted(members, key=lambda m: -m.link.score):
        accuracy, error = held_out_accuracy(m.held_out, labels)
        config = m.config
        rows.append(
            {
                "member": config.family if config.family != FOREST else f"forest, {config.splits}",
                "space": config.space,
                "n_neighbors": config.n_neighbors,
                "connectivity": config.connectivity,
                "kernel_weight": config.weight,
                "fidelity": config.fidelity,
                "log_likelihood": m.link.score,
                "accuracy": accuracy,
                "error": error,
                "weight": weight.get(id(m), 0.0),
                "chosen": id(m) in weight,
            }
        )
    return Table.from_rows(rows, MEMBER_COLUMNS)


def family_table(mean: Average, labels: MemberLabels) -> Table:
    """Families with their weights and the share of held-out labels that each predicts; last, all together."""
    rows = []
    for family, weight in zip(mean.ensemble.families, mean.ensemble.weights.tolist(), strict=True):
        logs = [m.link.logarithms(m.held_out) for m in mean.ensemble.members if m.family == family]
        rows.append(_row(family, weight, held_out_accuracy(np.mean(logs, axis=0), labels)[0]))
    together = _row(TOGETHER, float("nan"), held_out_accuracy(mean.held_out, labels)[0])
    return Table.from_rows([*rows, together], FAMILY_COLUMNS)


def with_program_weight(families: Table, weight: float) -> Table:
    """The families with the program among them."""
    rows = families.rows()
    for row in rows[:-1]:
        row["weight"] = float(row["weight"]) * (1 - weight)
    return Table.from_rows([*rows[:-1], _row(PROGRAM, weight, float("nan")), rows[-1]], FAMILY_COLUMNS)


def summary(mean: Average, labels: MemberLabels) -> str:
    """What was averaged, in a sentence."""
    if not labels.judged.any():
        return TOO_FEW
    weights = zip(mean.ensemble.families, mean.ensemble.weights.tolist(), strict=True)
    parts = ", ".join(f"{family} {weight:.0%}" for family, weight in weights)
    accuracy, _ = held_out_accuracy(mean.held_out, labels)
    return (
        f"average of {len(mean.ensemble.members)} members that predict held-out labels about as well as the best "
        f"({parts}); together they predict {accuracy:.1%} of the held-out given labels"
    )


def held_out_accuracy(held_out: Floats, labels: MemberLabels) -> tuple[float, float]:
    """Share of the held-out labels that are predicted, and its standard error."""
    counts = np.where(labels.judged, labels.counts, 0.0)
    if not counts.any():
        return float("nan"), float("nan")
    correct = labels.Y[np.arange(counts.size), held_out.argmax(axis=1)]
    share = float(counts @ correct / counts.sum())
    return share, float(np.sqrt(max(share * (1 - share), 0.0) * np.sum((counts / counts.sum()) ** 2)))


def _row(family: str, weight: float, accuracy: float) -> dict[str, Any]:
    return {"family": family, "weight": weight, "accuracy": accuracy}
