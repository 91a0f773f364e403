"""A fit uses no more threads than the environment, threadpool_limits and joblib allow."""

import os
import subprocess
import sys

import pytest

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
    SIISClassifier(method="paper", solver="certified").fit(X, y)
    return sum(thread.name.startswith("siis") for thread in threading.enumerate())

"""


GRID_SEARCH = """
import threading
import numpy as np
from joblib import cpu_count
from sklearn.model_selection import GridSearchCV
from siis import SIISClassifier

def own_threads(model, X, y):
    return sum(thread.name.startswith("siis") for thread in threading.enumerate())

X = np.random.default_rng(0).normal(size=(3000, 20))
y = (X[:, 0] > 0).astype(int)
search = GridSearchCV(
    SIISClassifier(method="paper", solver="certified"),
    {"n_neighbors": [5, 10]},
    cv=2,
    scoring=own_threads,
    n_jobs=cpu_count(),
    refit=False,
    error_score="raise",
)
search.fit(X, y)
print(int(sum(search.cv_results_[f"split{k}_test_score"].sum() for k in range(2))))
"""


def printed_number(code, **limits):
    """Run ``code`` in a process whose environment names no limits but these; the number that it prints."""
    names = ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT")  # the caller's would decide what is tested
    environment = {key: value for key, value in os.environ.items() if key not in names} | limits
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@several
def test_a_fit_uses_no_more_threads_than_the_environment_allows():
    assert printed_number(FIT + "print(threads_after_a_fit())", OMP_NUM_THREADS="1") == 0


@several
def test_a_fit_uses_no_more_threads_than_threadpool_limits_allow():
    code = "with threadpool_limits(1):\n    print(threads_after_a_fit())\nassert threads_after_a_fit() > 0"
    assert printed_number(FIT + code) == 0


@several
def test_worker_processes_of_a_grid_search_share_the_cores():
    """With joblib's default backend, in a process whose other tests and warnings play no part."""
    assert printed_number(GRID_SEARCH) == 0, "each worker has one core, and no threads of its own"
