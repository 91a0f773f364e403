"""WRENCH's JSON: an object of examples by id, whose weak labels are annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siis.labels.unlabelled import is_minus_one
from siis.tables.tools.fields import (
    column_of,
    columns_of,
    flattened,
    label_text,
    the_list,
    the_object,
    without_ours,
    written_items,
)
from siis.tables.tools.told import ID, OURS, Answer, Parsed, Told, Vote, free_name, vote_columns
from siis.texts import quoted

TOOL = "WRENCH"
WEAK = "weak_labels"
TEXT = "text"
FILE = "answers.json"


@dataclass(frozen=True, eq=False)
class Weak:
    """The examples, as they were read.

    Attributes
    ----------
    examples : dict of str to dict
    """

    examples: dict[str, dict[str, Any]]

    def answered(self, answers: Sequence[Answer], question: str | None) -> dict[str, bytes]:
        """Write the examples with answers beside their weak labels.

        Parameters
        ----------
        answers : sequence of n Answer
        question : str or None

        Returns
        -------
        dict of str to bytes
        """
        done = {
            name: {**example, OURS: answer.to_plain()}
            for (name, example), answer in zip(self.examples.items(), answers, strict=True)
        }
        return {FILE: written_items(done)}


def is_weak(value: Any) -> bool:
    """Tell whether a JSON file holds examples with weak labels.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool
    """
    return isinstance(value, dict) and any(isinstance(one, dict) and WEAK in one for one in value.values())


def read_weak(path: Path, found: dict[str, Any]) -> Parsed:
    """Read examples: each labelling function is an annotator, and -1 abstains. The field label is not used.

    Parameters
    ----------
    path : Path
    found : dict

    Returns
    -------
    Parsed
    """
    examples, votes, records, labels = {}, [], [], []
    width = 0
    for row, (name, value) in enumerate(found.items()):
        where = f"{path}, example {quoted(name)}"
        example = without_ours(the_object(value, where, "an example"), where)
        records.append(dict(flattened(the_object(example.get("data"), where, "the data of an example"))))
        weak = the_list(example.get(WEAK), where, WEAK)
        if any(isinstance(vote, list | dict) for vote in weak) or (row and len(weak) != width):
            raise ValueError(
                f"{where}: {WEAK} must hold one number or name for each of the {width or len(weak)} labelling "
                f"functions; found {len(weak)} entries. Write them again."
            )
        width = len(weak)
        votes += [
            Vote(row, WEAK, f"function {k}", text)
            for k, vote in enumerate(weak, start=1)
            if (text := label_text(vote)) is not None and not is_minus_one(vote)
        ]
        labels.append(example.get("label"))
        examples[name] = example
    fields, notes = columns_of(records)
    id, label = free_name(ID, fields), free_name("label", fields)
    fields[id] = column_of(list(examples))
    aside: set[str] = set()
    if any(one is not None for one in labels):
        fields[label] = column_of([label_text(one) if not isinstance(one, list | dict) else None for one in labels])
        aside = {label}
        notes.append(f"{quoted(label)} is not used: there are weak labels; --label {quoted(label)} takes it instead")
    said = vote_columns(votes, len(examples), fields)
    told = Told(
        TOOL,
        id=id,
        texts=tuple(text for text in (TEXT,) if text in fields),
        questions=said.questions,
        votes=frozenset(said.columns) - said.who,
        has_own_ids=True,
        unanswered=None if said.questions else "all labelling functions abstain from all examples",
        aside=said.who | aside | ({ID} & set(fields)),
    )
    return Parsed({**fields, **said.columns}, len(examples), [f"weak labels of {TOOL}", *notes], told, Weak(examples))
