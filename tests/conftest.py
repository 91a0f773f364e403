import os
import shutil
from pathlib import Path

import numpy as np
import pytest

OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)  # of Debian's Chromium


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


def missing(reason):
    """Skip; but fail where a browser was promised."""
    if os.environ.get("SIIS_NEEDS_BROWSER"):
        pytest.fail(f"SIIS_NEEDS_BROWSER is set, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    program = os.environ.get("SIIS_CHROMIUM") or shutil.which("chromium")
    if program is None:
        missing("chromium is not installed (`apt-get install chromium`, or name it in SIIS_CHROMIUM)")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ImportError:
        missing("playwright is not installed (`pip install playwright`)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        yield running
        running.close()
