"""The numbers that the paper prints (its two ISOLET tables, its moons figure and its first figure)."""

NOISE = (0.0, 0.2, 0.4, 0.6)

# (labelled, unlabelled) accuracies at the four noise levels
ISOLET = {
    "svm": ((0.943, 0.813, 0.687, 0.521), (0.851, 0.805, 0.729, 0.594)),
    "gfhf": ((1.000, 0.800, 0.600, 0.400), (0.865, 0.816, 0.797, 0.674)),
    "lssc": ((0.899, 0.877, 0.829, 0.718), (0.848, 0.828, 0.785, 0.677)),
    "gtf": ((0.958, 0.798, 0.633, 0.553), (0.701, 0.699, 0.598, 0.548)),
    "spmr": ((0.685, 0.638, 0.635, 0.548), (0.689, 0.638, 0.627, 0.539)),
    "siis": ((0.911, 0.905, 0.836, 0.774), (0.854, 0.849, 0.802, 0.749)),
}
MOONS = {"gfhf": 0.7801, "robust": 0.8829, "gtf": 0.9161, "siis": 1.0}
CHAIN = {"gtf": -0.9987, "laplacian": -0.3970}


def isolet(method: str, noise: float, labelled: bool) -> float | None:
    """Give the paper's accuracy on ISOLET, or None where it prints none."""
    if method not in ISOLET or noise not in NOISE:
        return None
    return ISOLET[method][0 if labelled else 1][NOISE.index(noise)]
