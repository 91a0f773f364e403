"""Messages of the library in the names of the command line."""

from __future__ import annotations

from siis.errors import Message

OPTIONS = {
    "alpha": "--alpha",
    "bandwidth": "--bandwidth",
    "beta": "--beta",
    "connectivity": "--connectivity",
    "device": "--device",
    "engine": "--engine",
    "laplacian": "--laplacian",
    "max_iter": "--max-iter",
    "members": "--members",
    "method": "--method",
    "metric": "--metric",
    "n_components": "--n-components",
    "n_neighbors": "--n-neighbors",
    "neighbor_search": "--neighbor-search",
    "random_state": "--seed",
    "solver": "--solver",
    "tol": "--tol",
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


def worded(problem: BaseException) -> str:
    """The message of an error or a warning in the names of the command line."""
    message = problem.args[0] if problem.args else ""
    return message.worded(NAMES) if isinstance(message, Message) else str(problem)
