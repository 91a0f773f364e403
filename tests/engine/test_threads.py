"""Pieces of work in threads: a failure is heard at once, and the others end at their next pause."""

import signal
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn.neighbors  # noqa: F401  (loads OpenMP, whose limits are tested)
from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_limits

from siis.engine import loops, threads
from siis.engine.threads import in_threads, is_busy, n_threads, one_blas_thread, pause_point

several = pytest.mark.skipif(n_threads() < 2, reason="one core: pieces run one after the other")


def until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


@several
def test_the_caller_does_short_pieces_itself_and_waits_for_long_ones():
    everybody = threading.Barrier(n_threads(), timeout=20)

    def piece(_):
        everybody.wait()  # all at once
        return threading.current_thread() is threading.main_thread()

    assert sum(in_threads(piece, range(n_threads()))) == 1
    assert not any(in_threads(piece, range(n_threads()), n_threads()))


@pytest.fixture
def hears_interrupts():
    """Jobs in the background are started to ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@several
@pytest.mark.parametrize("at_once", [None, 2])
def test_an_interrupt_drops_what_has_not_begun(at_once, hears_interrupts):
    """It reaches the calling thread, in a piece of its own or while it waits."""
    begun = []

    def piece(k):
        begun.append(k)
        time.sleep(0.3)  # until the caller waits: an interrupt on the way there is heard when the wait is over
        if threading.current_thread() is threading.main_thread() or (at_once and k == 0):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        for _ in range(200):
            time.sleep(0.01)
            pause_point()

    with pytest.raises(KeyboardInterrupt):
        in_threads(piece, range(100), at_once)
    assert until(lambda: not is_busy())
    assert len(begun) <= n_threads() + 1
    assert in_threads(lambda k: k, range(3)) == [0, 1, 2], "threads of this thread again"


@several
def test_work_inside_a_piece_pauses_by_itself():
    """Passes over rows and edges are pieces: loops of them need no pause of their own."""
    passes = []

    def piece(k):
        if k == 1:
            time.sleep(0.1)
            raise ValueError("broken")
        while True:
            in_threads(lambda _: passes.append(time.sleep(0.01)), [0])

    with pytest.raises(ValueError, match="broken"):
        in_threads(piece, [0, 1])
    assert until(lambda: not is_busy())
    assert passes


def test_results_keep_their_order():
    assert in_threads(lambda k: (time.sleep(0.01 * (3 - k)), k)[1], range(3)) == [0, 1, 2]
    assert not is_busy()
    np.testing.assert_array_equal(in_threads(np.square, []), [])
    nested = in_threads(lambda i: sum(in_threads(lambda j: i * j, range(4))), range(4))
    assert nested == [0, 6, 12, 18]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda i: 1 // i, [3, 2, 1, 0])


def test_no_more_pieces_run_at_once_than_asked():
    lock, running, most = threading.Lock(), [0], [0]

    def work(item):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        return item

    assert in_threads(work, list(range(8)), 1) == list(range(8))
    assert most[0] == 1


def test_loops_are_compiled_where_nothing_can_be_kept(monkeypatch):
    calls = []

    def njit(**options):
        calls.append(options)

        def decorate(loop):
            if options.get("cache"):
                raise RuntimeError("cannot cache function: no locator available")
            return loop

        return decorate

    monkeypatch.setattr(loops, "njit", njit)
    assert loops.compiled(len) is len
    assert [bool(options.get("cache")) for options in calls] == [True, False]


def blas_threads():
    libraries = threads._libraries().info()  # those that were there when it was first asked
    return [library["num_threads"] for library in libraries if library["user_api"] == "blas"]


def test_the_last_who_wants_one_thread_of_linear_algebra_gives_the_others_back():
    """The limit is the process's: who came first, with the true number in hand, may go first."""
    before, first, second = blas_threads(), one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def entered_elsewhere(limit):
    """Enter a limit in another thread; gives what leaves it."""
    begun, over = threading.Event(), threading.Event()

    def work():
        with limit():
            begun.set()
            over.wait(20)

    def leave():
        over.set()
        thread.join()

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(20)
    return leave


@several
def test_linear_algebra_is_limited_from_any_thread():
    """Whichever thread came before, and whichever leaves last."""
    before, heard = blas_threads(), []

    def elsewhere(work):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    def limited():
        with one_blas_thread():
            heard.append(set(blas_threads()))
        heard.append(blas_threads())

    limited()
    elsewhere(limited)
    with ThreadpoolController().limit(limits=1, user_api="blas"):  # another library's, which is this thread's
        elsewhere(limited)
    assert heard == [{1}, before, {1}, before, {1}, [1] * len(before)]
    assert blas_threads() == before
    with one_blas_thread():
        leave = entered_elsewhere(one_blas_thread)
    assert set(blas_threads()) == {1}
    leave()
    assert blas_threads() == before


@several
def test_a_limit_that_others_have_set_is_theirs():
    """Ours ends later: what it found, one thread, is not to stay."""
    before, ours = blas_threads(), one_blas_thread()
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        ours.__enter__()
    assert blas_threads() == before
    ours.__exit__(None, None, None)
    assert blas_threads() == before


@several
@pytest.mark.skipif(
    not hasattr(OpenBLASController, "clear_controlling_thread"),
    reason="before threadpoolctl 3.8 nothing guards a limit",
)
def test_a_limit_of_another_thread_is_not_overridden():
    before = blas_threads()
    leave = entered_elsewhere(lambda: ThreadpoolController().limit(limits=3, user_api="blas"))
    with one_blas_thread():
        assert set(blas_threads()) == {3}
        leave()
    assert blas_threads() == before


@several
def test_others_may_set_limits_when_ours_is_over():
    """The thread that ran our work still lives."""
    begun, over, before = threading.Event(), threading.Event(), blas_threads()

    def work():
        with one_blas_thread():
            pass
        begun.set()
        over.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(20)
    with threadpool_limits(1):
        assert set(blas_threads()) == {1}
    over.set()
    thread.join()
    assert blas_threads() == before


@several
def test_ours_is_within_a_limit_of_the_same_thread():
    before = blas_threads()
    with threadpool_limits(3):
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {3}
    assert blas_threads() == before


@several
def test_threadpool_limits_is_the_number_of_threads_that_work_uses():
    with threadpool_limits(1):
        assert set(in_threads(lambda _: threading.current_thread(), range(8), 4)) == {threading.main_thread()}
    assert threading.main_thread() not in in_threads(lambda _: threading.current_thread(), range(8), 4)


def test_threads_of_work_have_the_limit_of_their_caller(monkeypatch):
    pool = ThreadPoolExecutor(4)
    monkeypatch.setattr(threads, "_pool", pool)
    monkeypatch.setattr(threads, "_n_allowed", lambda: 4, raising=False)
    with threadpool_limits(3, user_api="openmp"), pool:
        everybody = threading.Barrier(3, timeout=20)
        found = in_threads(lambda _: (everybody.wait(), n_threads(), threading.current_thread()), range(9), 4)
    assert {n for _, n, _ in found} == {3}
    assert len({thread for *_, thread in found}) == 3


@several
def test_a_busy_pool_holds_nothing_of_work_that_is_done():
    """Helpers that were called off wait in its queue."""
    free, held = threading.Event(), []
    others = [threading.Thread(target=in_threads, args=(lambda _: free.wait(20), range(n_threads()), n_threads()))]
    others[0].start()
    assert until(is_busy)
    for _ in range(3):
        block = np.zeros(10)
        held.append(weakref.ref(block))
        in_threads(lambda k, block=block: block[k], range(4))
    del block
    assert [one() for one in held] == [None] * 3
    free.set()
    others[0].join()


def test_running_pieces_end_when_another_fails(monkeypatch):
    monkeypatch.setattr("siis.engine.threads.n_threads", lambda: 2)  # whatever the machine and OMP_NUM_THREADS allow
    ended, begun = threading.Event(), threading.Event()

    def piece(i):
        if i == 0:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        try:
            while True:
                pause_point()
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        in_threads(piece, [0, 1])
    assert ended.wait(10)
