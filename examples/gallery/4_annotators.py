"""
Several annotators who disagree
===============================

Five people looked at a part of 700 pictures of the digits 3, 5, 8 and 9. Two are careful, two make mistakes, and one
hardly looks. Nobody wrote down who is who.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from siis import SIISClassifier
from siis.labels import from_annotators

X, truth = load_digits(return_X_y=True)
DIGITS = [3, 5, 8, 9]
kept = np.isin(truth, DIGITS)
X, truth = X[kept][:700], truth[kept][:700]

# %%
# 120 pictures were shown to three people each. ``-1`` means no answer.

rng = np.random.default_rng(0)
SKILL = [0.95, 0.9, 0.65, 0.6, 0.3]
answers = np.full((truth.size, 5), -1)
shown = rng.choice(truth.size, 120, replace=False)
for i in shown:
    for person in rng.choice(5, 3, replace=False):
        others = [digit for digit in DIGITS if digit != truth[i]]
        answers[i, person] = truth[i] if rng.random() < SKILL[person] else rng.choice(others)

# %%
# ``from_annotators`` learns from the answers alone how far each person can be trusted, and turns the answers into
# probabilities. The estimates are compared with the true skill, which it has not seen.

together = from_annotators(answers)
for person, table in enumerate(together.confusion):
    found = together.prior @ np.diag(table)
    print(f"person {person + 1}: right in about {found:.0%} (in truth {SKILL[person]:.0%})")

# %%
# The probabilities are soft labels: rows that sum to 1, and rows of 0 where nobody answered. ``fit`` takes them as
# ``y``, with the names of the classes and a weight for each row, by how certain it is.

model = SIISClassifier().fit(X, together)
answer = model.transduction_

# %%
# How much is right: the vote, the people weighed, and the answer that looks at the pictures as well.

vote = np.array([np.bincount(row[row >= 0], minlength=10).argmax() for row in answers])
weighed = together.classes[together.Y.argmax(axis=1)]
guesses = {"vote": vote, "people weighed": weighed, "siis": answer}
right = {name: np.mean(guess[shown] == truth[shown]) for name, guess in guesses.items()}
rest = np.setdiff1d(np.arange(truth.size), shown)
right["siis, pictures\nthat nobody saw"] = np.mean(answer[rest] == truth[rest])
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.bar_label(axis.bar(list(right), list(right.values())), fmt="{:.1%}")
axis.set(ylim=(0, 1.1), ylabel="share that is right")
plt.show()
