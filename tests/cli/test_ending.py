"""The end of the program: at once after its last sentence, and one sentence on Ctrl-C at any moment.

Programs have all threads, also where Dask's workers of another test have left one to this process.
"""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.slow

BUSY = """
    import sys, time
    import numpy as np
    import siis.app.run
    from numba import njit
    from siis.engine.threads import in_threads
    from siis.__main__ import main

    @njit(nogil=True)
    def spin(n):
        total = 0.0
        for i in range(n):
            total += np.sin(total + i)
        return total

    spin(10)

    def piece(k):
        if k == 1:
            time.sleep(0.5)
            raise ValueError("a piece must be whole; this one is not. Mend it.")
        return spin(10**11)

    siis.app.run.fit_data = lambda *args, **kwargs: in_threads(piece, [0, 1], 2)
    main()
"""


def started(code, *args):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_a_failure_ends_the_program_although_a_thread_computes_on(table, tmp_path):
    process = started(BUSY, "fit", table[0], "--label", "label", "--out", tmp_path / "out")
    for line in process.stderr:
        if line.startswith("siis: "):
            break
    said = time.monotonic()
    assert line == "siis: a piece must be whole; this one is not. Mend it.\n"
    try:
        assert process.wait(timeout=30) == 1
    finally:
        process.kill()
        process.communicate()
    assert time.monotonic() - said < 20  # the loop would take an hour


ENTRY = """
    import sys
    import siis.__main__ as program
    install_sigint_handler = program.install_sigint_handler

    def listen_and_tell():
        install_sigint_handler()
        sys.stdout.write("ready\\n")
        sys.stdout.flush()

    program.install_sigint_handler = listen_and_tell
    program.main()
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0])
def test_interrupts_while_modules_are_imported(tmp_path, delay):
    """From the moment on at which the program listens; before it, Python itself is at work."""
    draw = random.Random(0)  # a fit of many seconds, whatever the machine
    rows = "".join(f"{'xy'[i % 2]},{draw.random()},{draw.random()}\n" for i in range(20_000))
    (tmp_path / "in.csv").write_text("label,a,b\n" + rows)
    process = started(ENTRY, "fit", tmp_path / "in.csv", "--label", "label", "--out", tmp_path / "out", "--quiet")
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert said.split() != []
    assert said.strip().startswith("Interrupted.")
    assert len(said.strip().splitlines()) == 1
    assert process.returncode == 130
    assert out == ""
