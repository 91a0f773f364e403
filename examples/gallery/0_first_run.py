"""
First run
=========

From a few labels, some of them wrong, to checked labels and a model for new examples, in five steps. The link at the
end of this page saves it as a notebook: open it with your own data, and change the first cell only.
"""

import numpy as np
from sklearn.datasets import load_digits

from siis import SIISClassifier

rng = np.random.default_rng(0)
X, truth = load_digits(return_X_y=True)
order = rng.permutation(truth.size)
X, truth, new = X[order[:1500]], truth[order[:1500]], X[order[1500:]]
y = np.where(np.arange(1500) < 150, truth, -1)  # -1: unlabelled
y[:50] = rng.integers(0, 10, 50)  # a third of the labels is drawn at random
is_wrong = (y >= 0) & (y != truth)

# %%
# **1. Fit.** No parameter needs to be set: models that predict held-out labels well are averaged.

model = SIISClassifier(random_state=0).fit(X, y)
print(f"classes of all 1,500 digits: {np.mean(model.transduction_ == truth):.1%} are right")
print(f"wrong labels: about {model.noise_rate_:.0%}; in truth {is_wrong.sum() / 150:.0%}")
print("model:", model.average_summary_.split(";")[0])

# %%
# **2. Which labels are wrong?** Worst first, with a suggestion for each.

issues = model.label_issues()
print(f"{issues.n_rows} labels are listed, {is_wrong[issues['index']].sum()} of them are wrong")
for row in issues.rows()[:5]:
    print(row["index"], row["given"], "->", row["suggested"], f"quality {row['quality']:.2f}")

# %%
# **3. Check them.** Here the true classes replace a reviewer. Checked labels are verified; a warm start keeps
# models, graph and basis, and takes a fraction of the time.

checked = np.zeros(1500, dtype=bool)
checked[issues["index"]] = True
y[checked] = truth[checked]
model.set_params(warm_start=True).fit(X, y, verified=checked)
print(f"after {checked.sum()} checks: {np.mean(model.transduction_ == truth):.1%} are right")

# %%
# **4. What next?** The examples whose labels would help most, and the expected gain from more labels.

print("label these next:", model.suggest_queries(5)["index"].tolist())
gain = model.label_gain(100)
print(f"a hundred labels more: {100 * gain.gain:+.1f} points, {100 * gain.low:+.1f} to {100 * gain.high:+.1f}")

# %%
# **5. New examples** are answered through their neighbours; ``siis.save`` and ``siis.load`` keep a model as a file.

print("classes of new digits:", model.predict(new)[:10].tolist())
