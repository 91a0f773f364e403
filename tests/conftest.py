import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def coil():
    """COIL-20 (1440 x 1024 pixels in 0..1, 20 classes) from the folder named by SIIS_DATA."""
    folder = os.environ.get("SIIS_DATA")
    if not folder or not (Path(folder) / "coil20.npz").exists():
        pytest.skip("COIL-20 is not at hand: set SIIS_DATA to a folder that holds coil20.npz")
    with np.load(Path(folder) / "coil20.npz") as stored:
        return stored["X"].astype(np.float64), stored["y"].astype(np.int64)
