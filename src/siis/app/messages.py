"""Errors and warnings of the library in the names of the command line."""

from __future__ import annotations

import errno

PARAMETERS = (  # of SIISClassifier, each with an option of its name
    *("n_neighbors", "n_components", "alpha", "beta", "bandwidth", "metric", "connectivity", "laplacian"),
    *("neighbor_search", "method", "members", "solver", "tol", "max_iter", "engine", "device"),
)
OPTIONS = {
    **{name: "--" + name.replace("_", "-") for name in PARAMETERS},
    "random_state": "--seed",
}
NAMES = {
    **OPTIONS,
    "X": "the features",
    "class_noise_rates_": "report.html",
    "class_prior": "class sizes",
    "graph_score_": "graph score",
    "label_issues": "label_issues.csv",
    "precomputed": "--graph",
    "owner": "",  # of a parameter: the class
    "sample_weight": "weights of labels",
    "y": "the labels",
}
PROBLEMS = (OSError, MemoryError, ModuleNotFoundError, RuntimeError, ValueError)  # reported in one sentence


def worded(problem: BaseException) -> str:
    """The message of an error or a warning in the names of the command line."""
    message = problem.args[0] if problem.args else ""
    return str(message.worded(NAMES)) if hasattr(message, "worded") else str(problem)


def error_sentence(problem: BaseException) -> str:
    """One of ``PROBLEMS`` as a sentence with its remedy."""
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this. Use fewer examples or columns, or a machine with more."
    if not isinstance(problem, OSError):
        return " ".join(worded(problem).split())
    if problem.errno == errno.ENOSPC:
        where = problem.filename or "the output"
        return f"{where} cannot be written: the disk is full. Free some space, or choose another --out."
    if problem.filename is None:
        return f"a file cannot be used: {problem.strerror or problem}. Check the paths."
    return f"{problem.filename} cannot be used: {problem.strerror}. Choose another path, or change its permissions."
