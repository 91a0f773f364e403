"""
All labelled, some wrong
========================

Every one of 1,797 digits has a label, and one label in ten is wrong. Half of the wrong ones are slips that people
make: a 1 that was filed as a 7, a 4 as a 9. Which are they, how many, and what does a classifier gain that is trained
after they are corrected? :doc:`A page of its own </fully-labelled>` says what to call and how to read the answers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from siis import SIISClassifier

# %%
# Half of the mistakes are between digits that look alike, half go anywhere.

X, truth = load_digits(return_X_y=True)
X = X / 16
alike = {1: 7, 7: 1, 3: 8, 8: 3, 4: 9, 9: 4, 5: 6, 6: 5}
rng = np.random.default_rng(0)
y = truth.copy()
slips = rng.choice(np.flatnonzero(np.isin(truth, list(alike))), 90, replace=False)
y[slips] = [alike[digit] for digit in truth[slips]]
others = rng.choice(np.flatnonzero(y == truth), 90, replace=False)
y[others] = (truth[others] + rng.integers(1, 10, others.size)) % 10
is_wrong = y != truth
print(f"{y.size:,} examples, all labelled, {is_wrong.sum()} labels wrong ({is_wrong.mean():.1%})")

# %%
# The call is the same as with few labels. Probabilities from labels that were held out are made inside.

model = SIISClassifier().fit(X, y)
low, high = model.noise_interval_
print(f"wrong labels: about {model.noise_rate_:.1%}, between {low:.1%} and {high:.1%}")

# %%
# Precision is the share of the listed labels that are wrong in truth, recall the share of the wrong ones that are
# listed. The list has about as many labels as are estimated to be wrong. The ranking does not depend on where the
# list ends, and goes on from there.

issues = model.label_issues()
hits = is_wrong[issues["index"]].sum()
print(f"suspects: {issues.n_rows}, of which wrong: {hits}")
precision = hits / issues.n_rows if issues.n_rows else np.nan
print(f"precision {precision:.1%}, recall {hits / is_wrong.sum():.1%}")
print(f"suggestion right: {np.sum(issues['suggested'] == truth[issues['index']])} of {issues.n_rows}")
first = model.label_ranking()["index"][: is_wrong.sum()]
print(f"wrong among the {first.size} of lowest quality: {is_wrong[first].sum()}")

# %%
# The sixteen labels of lowest quality, each with the likeliest class. A red title: the label was right.

figure, axes = plt.subplots(2, 8, figsize=(10, 3.2), layout="constrained")
for axis, row in zip(axes.ravel(), model.label_ranking().rows(), strict=False):
    axis.imshow(X[row["index"]].reshape(8, 8), cmap="gray_r")
    colour = "black" if is_wrong[row["index"]] else "red"
    axis.set_title(f"given {row['given']}, likeliest {row['suggested']}", fontsize=8, color=colour)
    axis.set_axis_off()
plt.show()

# %%
# Is it worth it? A third of the digits is set aside for a test against the truth. They must have no part in the
# cleaning, so the other two thirds are cleaned again, by themselves. All suspects get the suggested class unseen; a
# person who looks at them would do better.

rows, test = train_test_split(np.arange(y.size), test_size=1 / 3, random_state=0, stratify=truth)
suspects = SIISClassifier().fit(X[rows], y[rows]).label_issues()
cleaned = y[rows].copy()
cleaned[suspects["index"]] = suspects["suggested"]
for name, labels in {"given": y[rows], "cleaned": cleaned, "true": truth[rows]}.items():
    plain = LogisticRegression(max_iter=1000).fit(X[rows], labels)
    wrong = np.mean(labels != truth[rows])
    print(f"{name} labels: {wrong:.1%} wrong, test accuracy {plain.score(X[test], truth[test]):.1%}")
