"""
Images: one label in three is wrong
===================================

You have nine hundred pictures of handwritten digits. Somebody in a hurry labelled 150 of them, and got a third of
those wrong. We want the class of every picture, and a list of labels to look at again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from siis import SIISClassifier
from siis.datasets import contaminate, draw_labelled

# %%
# The pictures come as rows of 64 grey values. ``-1`` means unlabelled. ``contaminate`` plays the part of the person
# in a hurry: it replaces a third of the labels by other classes.

X, truth = load_digits(return_X_y=True)
X, truth = X[:900], truth[:900]
y = np.full(truth.size, -1)
labelled = draw_labelled(truth, per_class=15, random_state=0)
y[labelled] = truth[labelled]
y = contaminate(y, 1 / 3, random_state=0)
is_wrong = (y >= 0) & (y != truth)
print(f"{truth.size} pictures, {labelled.size} labels, {is_wrong.sum()} of them wrong")

# %%
# One call. Models that predict held-out labels well are averaged; no parameter needs to be set.

model = SIISClassifier().fit(X, y)
rest = y < 0
plain = SVC().fit(X[labelled], y[labelled]).predict(X)
print(f"right on unlabelled pictures: {np.mean(model.transduction_[rest] == truth[rest]):.1%}")
print(f"the same for an SVM on the 150 labels: {np.mean(plain[rest] == truth[rest]):.1%}")

# %%
# It also estimates how many labels are wrong, with an interval, and lists them.

low, high = model.noise_interval_
print(f"wrong labels: about {model.noise_rate_:.0%}, between {low:.0%} and {high:.0%}")
issues = model.label_issues()
print(f"listed: {issues.n_rows}, of which really wrong: {is_wrong[issues['index']].sum()}")

# %%
# The sixteen labels that it distrusts most. A red title is a false alarm: the label was right.

figure, axes = plt.subplots(2, 8, figsize=(10, 3.2), layout="constrained")
for axis, row in zip(axes.ravel(), issues.rows(), strict=False):
    axis.imshow(X[row["index"]].reshape(8, 8), cmap="gray_r")
    colour = "black" if is_wrong[row["index"]] else "red"
    title = f"label {row['given']}, better {row['suggested']}"
    axis.set_title(title, fontsize=8, color=colour)
    axis.set_axis_off()
plt.show()
