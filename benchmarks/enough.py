"""What a hundred further labels gain, foretold and then measured.

On a part of each set, with a fifth of the labels wrong, the default is fitted to some labels and asked what a
hundred more would gain; then these are added, drawn at random and with as many wrong ones, and it is fitted again.
Accuracy is that on the examples without a label in both fits. Writes results/enough.csv (one row for each pair of
fits; resumed where it stopped) and enough.md.
"""

import argparse
import time
import warnings

import numpy as np

import siis
from protocol import RESULTS, Rows, load
from siis import SIISClassifier
from siis.datasets import contaminate

SETS = ("coil20", "usps", "isolet")
COUNTS = (60, 150, 400)
SEEDS = (2, 3)  # others were looked at while the interval was made
NOISE, FURTHER, EXAMPLES = 0.2, 100, 1000
KEYS = ("version", "data", "labels", "seed")
FOUND = ("before", "after", "accuracy", "accuracy_low", "accuracy_high", "gain", "low", "high", "fit_s", "gain_s")
COLUMNS = (*KEYS, *FOUND)


def timed(work):
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(), time.perf_counter() - started


def measure(pair, count, seed):
    """Accuracies before and after, what was foretold, and the seconds that both took."""
    rng = np.random.default_rng([seed, 19])
    order = rng.permutation(pair[1].size)[:EXAMPLES]
    X, truth = pair[0][order], pair[1][order]  # in random order: the first ones are labelled
    noisy = contaminate(truth, NOISE, random_state=seed)

    def fitted(n_labels):
        return timed(lambda: SIISClassifier().fit(X, np.where(np.arange(truth.size) < n_labels, noisy, -1)))

    (model, fit_s), (later, _) = fitted(count), fitted(count + FURTHER)
    told, gain_s = timed(lambda: model.label_gain(FURTHER))
    rest = slice(count + FURTHER, None)
    before, after = (np.mean(m.transduction_[rest] == truth[rest]) for m in (model, later))
    spans = (told.accuracy, told.accuracy_low, told.accuracy_high, told.gain, told.low, told.high)
    return (before, after, *spans, fit_s, gain_s)


def table(rows):
    """Markdown: foretold and measured gains, in points, and how often the intervals held what came."""
    rows = [row for row in rows if row["version"] == siis.__version__]
    found = [{name: float(row[name]) for name in FOUND} for row in rows]
    lines = [
        "| set | labels | draw | accuracy, told (interval) | measured | gain, told (interval) | measured | held |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    key = [(row["data"], int(row["labels"]), int(row["seed"])) for row in rows]
    kept = []
    for (data, labels, seed), r in sorted(zip(key, found, strict=True), key=lambda one: one[0]):
        if np.isnan(r["gain"]):
            told = ["not told", "not told"]
        else:
            told = [
                f"{r['accuracy']:.1%} ({r['accuracy_low']:.1%} to {r['accuracy_high']:.1%})",
                f"{100 * r['gain']:+.1f} ({100 * r['low']:+.1f} to {100 * r['high']:+.1f})",
            ]
            gain = r["after"] - r["before"]
            kept.append(
                (
                    r["low"] <= gain <= r["high"],
                    r["accuracy_low"] <= r["before"] <= r["accuracy_high"],
                    abs(r["gain"] - gain),
                    r["gain_s"] / r["fit_s"],
                )
            )
        held = "not told" if np.isnan(r["gain"]) else "yes" if kept[-1][0] else "no"
        lines.append(
            f"| {data} | {labels} | {seed} | {told[0]} | {r['before']:.1%} | {told[1]} | "
            f"{100 * (r['after'] - r['before']):+.1f} | {held} |"
        )
    gains, accuracies, off, cost = zip(*kept, strict=True)
    lines += [
        "",
        f"Of {len(rows)} gains, {len(kept)} were told; the 95 % interval held the measured one {sum(gains)} times, "
        f"that of the accuracy {sum(accuracies)} times. Gains were off by {100 * np.median(off):.1f} points in the "
        f"median and by {100 * max(off):.1f} at most. Telling took {np.median(cost):.0%} of the time of the fit in "
        f"the median, {max(cost):.0%} at most.",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--tables", action="store_true", help="only write the table from the CSV file")
    options = parser.parse_args()
    rows = Rows(RESULTS / "enough.csv", COLUMNS, len(KEYS))
    found_sets = {} if options.tables else {name: load(name) for name in options.data}
    for seed in options.seeds:  # an interrupted run is balanced
        for name, pair in found_sets.items():
            for count in COUNTS if pair is not None else ():
                if not rows.has(siis.__version__, name, count, seed):
                    found = measure(pair, count, seed)
                    rows.add(siis.__version__, name, count, seed, *(f"{value:.6g}" for value in found))
                    print(name, count, seed, *(f"{value:.3f}" for value in found), flush=True)
    (RESULTS / "enough.md").write_text(table(rows.rows))


if __name__ == "__main__":
    main()
