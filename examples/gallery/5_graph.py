"""
A graph of your own
===================

Sometimes there are no features, only links: papers that cite each other, accounts that write to each other, pages
with common readers. ``affinity="precomputed"`` takes the weights of such a graph in place of ``X``.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from siis import SIISClassifier
from siis.datasets import contaminate, draw_labelled

# %%
# Four research fields of a hundred papers each. Two papers of one field are linked with probability 0.1, two of
# different fields with 0.015, and a link counts as often as one cites the other.

rng = np.random.default_rng(0)
truth = np.repeat(np.arange(4), 100)
chance = np.where(truth[:, None] == truth, 0.1, 0.015)
upper = np.triu(rng.random(chance.shape) < chance, 1) * rng.integers(1, 3, chance.shape)
W = sp.csr_array((upper + upper.T).astype(float))
print(f"{W.shape[0]} papers, {W.nnz // 2} links, {np.mean(W.sum(axis=1) == 0):.0%} without any")

# %%
# Eight papers of each field have a label, and one label in four is wrong.

y = np.full(truth.size, -1)
labelled = draw_labelled(truth, per_class=8, random_state=0)
y[labelled] = truth[labelled]
y = contaminate(y, 0.25, random_state=0)
model = SIISClassifier(affinity="precomputed", laplacian="normalized").fit(W, y)
rest = y < 0
print(f"right on papers without a label: {np.mean(model.transduction_[rest] == truth[rest]):.1%}")
print(f"all papers are connected to a label: {model.is_reached_.all()}")

# %%
# A new paper comes with its links to the papers that are known: one row of weights.

new = np.zeros((1, truth.size))
new[0, rng.choice(np.flatnonzero(truth == 2), 3, replace=False)] = 1
print("three links into field 2:", model.predict_proba(new).round(2))

# %%
# Labels that are probably wrong. A paper has only some dozen links here, so few labels are listed.

suspects = model.label_issues()["index"]
is_wrong = (y >= 0) & (y != truth)
print(f"distrusted: {len(suspects)}, of which wrong: {is_wrong[suspects].sum()} of {is_wrong.sum()}")

# %%
# The smooth eigenvectors of the graph are also a picture of it. Circles are labels that are probably wrong.

place = model.basis_.vectors[:, 1:3]
link = sp.coo_array(sp.triu(W))
figure, axis = plt.subplots(figsize=(6, 4.5), layout="constrained")
ends = place[np.array([link.row, link.col])]
axis.plot(*ends.transpose(2, 0, 1), c="0.85", lw=0.4, zorder=0)
axis.scatter(*place.T, c=model.transduction_, cmap="tab10", vmax=9, s=14)
axis.scatter(*place[suspects].T, s=90, facecolors="none", edgecolors="black")
axis.set_axis_off()
plt.show()
