"""Random small programs of every kind, built the same way wherever they are used."""

import contextlib
import warnings
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from siis.engine import NUMPY
from siis.graph import Graph
from siis.program import Program
from siis.program.basis import identity_basis, smooth_basis


def random_graph(rng, n, n_components=1, repeated=False):
    """A random weighted graph with the given number of components; with ``repeated``, many equal weights."""
    W = np.zeros((n, n))
    parts = np.array_split(np.arange(n), n_components)
    for part in parts:
        for a, b in pairwise(part):
            W[a, b] = 1.0 if repeated else rng.uniform(0.2, 1.5)
        for _ in range(part.size):
            a, b = rng.choice(part, 2, replace=part.size < 2)
            if a != b:
                W[min(a, b), max(a, b)] = 1.0 if repeated else rng.uniform(0.2, 1.5)
    return Graph(sp.csr_array(W + W.T))


def random_program(seed, engine=NUMPY):
    """Draw a program: components, repeated weights, c, gamma, beta, basis, soft labels and row weights all vary."""
    rng = np.random.default_rng(seed)
    n_components = int(rng.choice([1, 1, 2, 4]))
    n = int(rng.integers(4 * n_components, 4 * n_components + 16))
    whole = random_graph(rng, n, n_components, repeated=seed % 3 == 0)
    labelled_parts = rng.permutation(n_components)[: rng.integers(1, n_components + 1)]
    candidates = np.flatnonzero(np.isin(whole.component, labelled_parts))
    first = np.array([np.flatnonzero(whole.component == part)[0] for part in labelled_parts])
    rows = np.concatenate([first, rng.choice(candidates, rng.integers(1, 8))])  # a vertex may hold several labels
    c = int(rng.choice([1, 2, 5]))
    if c == 1:
        Y = rng.choice([-1.0, 1.0], (rows.size, 1))
    elif rng.random() < 0.5:
        Y = np.eye(c)[rng.integers(0, c, rows.size)]
    else:
        Y = rng.dirichlet(np.ones(c), rows.size)
    alpha = np.full(rows.size, 10.0 ** rng.uniform(-0.5, 2))
    if rng.random() < 0.5:
        alpha = alpha * rng.uniform(0.1, 3, rows.size)
    gamma, beta = 1.0, 10.0 ** rng.uniform(-1, 1.5)
    if seed % 5 == 1:
        gamma = 0.0
    elif seed % 5 == 2:
        beta = 0.0
    reached = whole.reached_from(rows)
    graph = whole.subgraph(reached)
    rows = (np.cumsum(reached) - 1)[rows]
    if seed % 4 == 0:
        basis = identity_basis(graph, engine)
    else:
        m = int(rng.integers(graph.n_components, graph.n_vertices + 1))
        laplacian = "normalized" if rng.random() < 0.5 else "unnormalized"
        basis = smooth_basis(graph, m, laplacian, engine=engine)
    return Program(graph, basis, rows, Y, alpha, beta, gamma)


def reference(program, edge_norm=2):
    """The optimum of (M1), by Clarabel through CVXPY; U and Sigma written out densely."""
    import cvxpy as cp  # noqa: PLC0415  (only these tests need it)

    m = program.basis.shape[1]
    U = program.basis.synthesize(np.eye(m))
    Sigma = program.basis.energy_matrix()
    Sigma = np.asarray(Sigma.todense()) if hasattr(Sigma, "todense") else Sigma
    lam, V = np.linalg.eigh(Sigma)
    root = np.sqrt(np.maximum(lam, 0))[:, None] * V.T
    A = cp.Variable((m, program.Y.shape[1]))
    terms = [program.alpha @ cp.norm(U[program.vertices] @ A - program.Y, 2, axis=1)]
    if program.gamma:
        terms.append(program.gamma * cp.sum(cp.norm((program.graph.incidence @ U) @ A, edge_norm, axis=1)))
    if program.beta:
        terms.append(program.beta * cp.sum_squares(root @ A))
    problem = cp.Problem(cp.Minimize(sum(terms)))
    for tol in (1e-10, 1e-9, 1e-8, 1e-7):  # as tight as Clarabel manages on this one
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.simplefilter("ignore")
            optimum = problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            if problem.status == cp.OPTIMAL:
                return optimum
    raise AssertionError("the reference solver found no optimum")
