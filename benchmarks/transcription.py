"""The paper's Algorithm 1 as printed, with P U formed densely: what the benchmarks compare with."""

import numpy as np


def transcription(program, n_iter=100):
    """Run always ``n_iter`` iterations, a matrix inverted in each; its Gram matrix is formed once. A, L1 and L2."""
    U, Sigma, Y, alpha = program.basis.vectors, np.diag(program.basis.values), program.Y, program.alpha[:, None]
    PU, JU = program.graph.incidence @ U, U[program.vertices]
    gram = PU.T @ PU + JU.T @ JU
    A, L1, L2, mu = np.zeros((U.shape[1], Y.shape[1])), np.ones((PU.shape[0], Y.shape[1])), np.ones(Y.shape), 1.0

    def shrink(N, t):
        norms = np.sqrt((N**2).sum(axis=1, keepdims=True))
        return np.where(norms > t, (norms - t) / np.maximum(norms, 1e-300) * N, 0.0)

    for _ in range(n_iter):
        Q = shrink(PU @ A - L1 / mu, 1 / mu)
        B = shrink(JU @ A - Y - L2 / mu, alpha / mu)
        right = PU.T @ (L1 + mu * Q) + JU.T @ (L2 + mu * (B + Y))
        A = np.linalg.inv(2 * program.beta * Sigma + mu * gram) @ right
        L1 = L1 + mu * (Q - PU @ A)
        L2 = L2 + mu * (B - JU @ A + Y)
        mu = min(1.2 * mu, 1e10)
    return A, L1, L2
