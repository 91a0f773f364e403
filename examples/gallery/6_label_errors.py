"""
Finding label errors
====================

All 300 examples have a label and nothing is left to classify; the question is which labels are wrong. One in ten is,
and most of the mistakes go one way: malignant tumours that were filed as benign.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from siis import SIISClassifier

X, codes = load_breast_cancer(return_X_y=True)
X, truth = X[:300], np.array(["malignant", "benign"])[codes[:300]]
rng = np.random.default_rng(0)
y = truth.copy()
y[rng.choice(np.flatnonzero(truth == "malignant"), 24, replace=False)] = "benign"
y[rng.choice(np.flatnonzero(truth == "benign"), 6, replace=False)] = "malignant"
is_wrong = y != truth

# %%
# How bad is it? The estimate comes from the labels themselves; it has not seen the truth. Columns of the noise matrix
# are true classes: read "of the malignant ones, so many are labelled benign".

model = SIISClassifier().fit(X, y)
low, high = model.noise_interval_
print(f"wrong labels: about {model.noise_rate_:.1%}, between {low:.1%} and {high:.1%}")
print(f"in truth: {is_wrong.mean():.1%}")
print(f"how well neighbourhoods carry the labels (1 is perfectly): {model.graph_score_:.2f}")
for k, name in enumerate(model.classes_):
    print(f"truly {name}, labelled otherwise: {1 - model.noise_matrix_[k, k]:.0%}")

# %%
# Which ones? Worst first, each with a suggestion and with close examples of another class. Each label is scored by
# models that did not see it.

issues = model.label_issues()
for row in issues.rows()[:5]:
    print(row["index"], row["given"], "->", row["suggested"], "see", row["neighbors"])
hits = is_wrong[issues["index"]].sum()
print(f"listed: {issues.n_rows}, really wrong: {hits} of {is_wrong.sum()}")

# %%
# How far down should you check? ``label_ranking`` goes on where the list ends: all labels, worst first.

ranking = model.label_ranking()
found = np.cumsum(is_wrong[ranking["index"]])
figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
axis.plot(np.arange(1, 101), found[:100], label="lowest quality first")
axis.plot([0, 100], [0, 100 * is_wrong.mean()], "--", label="any order")
axis.axhline(is_wrong.sum(), color="0.7")
axis.set(xlabel="labels checked", ylabel="wrong labels found")
axis.legend()
plt.show()

# %%
# Suppose a reviewer checks the forty worst. Checked labels go back as verified ones: they are not listed again.

checked = ranking["index"][:40]
y[checked] = truth[checked]
again = SIISClassifier().fit(X, y, verified=np.isin(np.arange(y.size), checked))
print(f"labels still wrong: {np.sum(y != truth)}")
print(f"answers that are right, before: {np.mean(model.transduction_ == truth):.1%}")
print(f"answers that are right, after: {np.mean(again.transduction_ == truth):.1%}")

# %%
# ``suggest_queries`` lists the checks that would help most, in neighbourhoods with uncertain predictions.

print(again.suggest_queries(5))
