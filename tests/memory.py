"""Peak memory of a call."""

import tracemalloc


def peak(function):
    """Result and peak in bytes; the first call compiles what is not compiled yet, which takes memory too."""
    function()
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
