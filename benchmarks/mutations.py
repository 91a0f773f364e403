"""Thousands of model files with one thing changed: none may crash siis, hang it, or answer otherwise unnoticed.

Batches run in processes of their own with limits of time and memory, so that a crash is seen and counted. Half of the
files keep their old digest, as damaged ones would; for the other half it is computed anew, as an enemy would do.
Writes benchmarks/results/mutations.json: how many ended in which way.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "mutations.json"
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "tests")]
BATCH = 500
MEMORY = 8 * 2**30  # bytes of address space; libraries reserve much more than they use
SECONDS = 10.0  # for one file


def batch(first: int, last: int) -> None:
    """Mutations first..last in this process; a line before and after each one."""
    from mutations import bases, is_fine, mutated, outcome  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = bases(folder)
        for base in found:
            base.answers  # noqa: B018  (computed before memory is limited)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for seed in range(first, last):
            base, fresh = found[seed % len(found)], seed // len(found) % 2 == 1
            content, said = mutated(base, seed, fresh)
            print(json.dumps({"begun": seed, "base": base.name, "fresh": fresh, "said": said}), flush=True)
            started = time.monotonic()
            end = outcome(folder / "model.siis", base, content)
            if time.monotonic() - started > SECONDS:
                end = f"slow: {time.monotonic() - started:.0f} s, {end}"
            print(json.dumps({"end": end, "fine": is_fine(end, base, fresh)}), flush=True)
    print(json.dumps({"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}), flush=True)


def run(n: int, size: int) -> dict[str, object]:
    """All batches; what they did."""
    counts: Counter[str] = Counter()
    wrong: list[dict[str, object]] = []
    memory, seed = 0, 0
    while seed < n:
        last = min(seed + size, n)
        command = [sys.executable, __file__, "--first", str(seed), "--last", str(last)]
        limit = SECONDS * 6 + (last - seed) * SECONDS / 5
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
            text, ended = done.stdout, f"crashed: exit code {done.returncode}"
        except subprocess.TimeoutExpired as problem:
            text, ended = (problem.stdout or b"").decode(), "hung"
        begun: dict[str, object] | None = None
        for line in map(json.loads, text.splitlines()):
            if "memory" in line:
                memory, seed, begun = max(memory, line["memory"]), last, None
            elif "begun" in line:
                begun = line
            else:
                counts[_kind(line["end"], begun)] += 1
                if not line["fine"]:
                    wrong.append({**(begun or {}), "end": line["end"]})
                seed, begun = seed + 1, None
        if begun is not None:  # the process ended in the middle of this one
            counts[ended] += 1
            wrong.append({**begun, "end": ended})
            seed += 1
        elif seed < last:
            raise RuntimeError(f"a batch ended before it began: {ended}")
        print(f"{seed} of {n}: {len(wrong)} wrong", flush=True)
    return {
        "mutations": n,
        "outcomes": dict(sorted(counts.items())),
        "wrong": wrong,
        "peak_memory_mib": memory // 1024,
    }


def _kind(end: str, begun: dict[str, object] | None) -> str:
    kind = end.partition(":")[0]
    if begun is not None and begun["base"] == "0.1.0":
        return f"{kind} (format 1, no digest)"
    return f"{kind} ({'digest computed anew' if begun and begun['fresh'] else 'old digest'})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--last", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.first is not None:
        batch(args.first, args.last)
        return 0
    found = run(args.n, args.batch)
    args.out.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found["outcomes"], indent=2))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
