"""A fit uses no more threads than the environment, threadpool_limits and joblib allow."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from siis import SIISClassifier
from siis.engine.threads import n_threads

pytestmark = pytest.mark.slow
several = pytest.mark.skipif(n_threads() < 2, reason="one core: a fit has one thread")

FIT = """
import threading
import numpy as np
from siis import SIISClassifier
from threadpoolctl import threadpool_limits

def threads_after_a_fit():
    X = np.random.default_rng(0).normal(size=(3000, 20))
    y = np.where(np.arange(3000) < 600, X[:, 0] > 0, -1)
    SIISClassifier(selection=None).fit(X, y)
    return sum(thread.name.startswith("siis") for thread in threading.enumerate())

"""


@several
@pytest.mark.parametrize("limit", ["OMP_NUM_THREADS", "threadpool_limits"])
def test_a_fit_uses_no_more_threads_than_are_allowed(limit):
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    if limit == "OMP_NUM_THREADS":
        environment[limit] = "1"
        code = "print(threads_after_a_fit())"
    else:
        code = "with threadpool_limits(1):\n    print(threads_after_a_fit())\nassert threads_after_a_fit() > 0"
    done = subprocess.run(
        [sys.executable, "-c", FIT + code], env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == 0


def own_threads(model, X, y):
    return sum(thread.name.startswith("siis") for thread in threading.enumerate())


@several
def test_worker_processes_of_a_grid_search_share_the_cores():
    """With joblib's default backend."""
    X = np.random.default_rng(0).normal(size=(3000, 20))
    y = (X[:, 0] > 0).astype(int)
    search = GridSearchCV(
        SIISClassifier(selection=None), {"n_neighbors": [5, 10]}, cv=2, scoring=own_threads, n_jobs=n_threads()
    )
    search.fit(X, y)
    counts = [search.cv_results_[f"split{k}_test_score"] for k in range(2)]
    assert not np.any(counts), "each worker has one core, and no threads of its own"
