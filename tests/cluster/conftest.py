"""The command line, run in this process; and workers of Dask on this computer."""

import pytest
from typer.testing import CliRunner

from siis.cli import app


@pytest.fixture
def siis():
    """Run the program with arguments; the result has exit_code, stdout, stderr."""
    return lambda *args: CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)


@pytest.fixture(scope="module")
def client():
    """Two workers, fresh for each module: tests kill them."""
    pytest.importorskip("distributed", reason="Dask is not installed: nothing is run on a cluster")
    from siis.distributed import ClusterOptions, connected  # noqa: PLC0415

    with connected(ClusterOptions(workers=2, memory="2GB")) as found:
        yield found
