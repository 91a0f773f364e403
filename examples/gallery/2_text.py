"""
Text: messages to a help desk
=============================

A help desk receives short messages and sorts them into four queues. Some were sorted by hand, by people who were new
to the job. Messages of one queue share words, so the words make the neighbourhoods.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from siis import SIISClassifier

# %%
# The messages are put together from phrases here, so that the example needs no download. Greetings and requests are
# common to all queues, some words ("card", "charged", "broken") to two, and every message ends with a remark that may
# be about another queue.

SUBJECTS = {
    "billing": "the invoice|my refund|a payment|my credit card|the monthly fee|the receipt",
    "delivery": "the parcel|my order|the courier|the shipment|the tracking number|the package",
    "login": "my password|the account|the reset mail|the login page|the sign-in|my user name",
    "device": "the battery|the screen|my charger|the memory card|the speaker|the new device",
}
TROUBLES = {
    "billing": "was charged twice|is too high|shows the wrong amount|was not booked|is not paid back",
    "delivery": "has not arrived|went to the wrong address|is in the depot|is late|arrived broken",
    "login": "does not work|is locked|never reaches me|says invalid code|was changed by someone",
    "device": "is broken|gets very hot|makes a noise|cannot be charged|turns itself off",
}
OPENINGS = ["hello,", "good morning,", "hi there,", "dear team,", "sorry to bother you:", "urgent!"]
CLOSINGS = ["please help", "thank you", "what can I do?", "I need it this week", "any news?"]


def message(queue, rng):
    """A greeting, a subject with two troubles, a request, and a remark about anything."""
    subject = rng.choice(SUBJECTS[queue].split("|"))
    troubles = " and ".join(rng.choice(TROUBLES[queue].split("|"), 2, replace=False))
    remark = rng.choice(SUBJECTS[rng.choice(list(SUBJECTS))].split("|"))
    opening, closing = rng.choice(OPENINGS), rng.choice(CLOSINGS)
    return f"{opening} {subject} {troubles}, {closing} PS: {remark} is fine"


rng = np.random.default_rng(0)
truth = np.repeat(list(SUBJECTS), 150)
messages = [message(queue, rng) for queue in truth]
print(messages[0], messages[200], messages[400], sep="\n")

# %%
# Twelve messages of each queue carry a label, and four of those twelve are in a wrong queue. Among strings, ``None``
# means unlabelled.

y = np.full(truth.size, None, dtype=object)
groups = [np.flatnonzero(truth == queue) for queue in SUBJECTS]
labelled = np.concatenate([rng.choice(group, 12, replace=False) for group in groups])
y[labelled] = truth[labelled]
for start in range(0, labelled.size, 12):
    wrong = labelled[start : start + 4]
    y[wrong] = [rng.choice([other for other in SUBJECTS if other != truth[i]]) for i in wrong]

# %%
# TF-IDF gives a sparse matrix, which goes in as it is. Latent dimensions are found inside.

X = TfidfVectorizer(sublinear_tf=True).fit_transform(messages)
model = SIISClassifier().fit(X, y)
rest = np.setdiff1d(np.arange(truth.size), labelled)
line = LogisticRegression().fit(X[labelled], y[labelled].astype(str)).predict(X[rest])
print(f"right on unlabelled messages: {np.mean(model.transduction_[rest] == truth[rest]):.1%}")
print(f"the same for logistic regression: {np.mean(line == truth[rest]):.1%}")

# %%
# The list for the person who sorts them again.

for row in model.label_issues().rows()[:5]:
    print(f"{row['given']} -> {row['suggested']}\n    {messages[row['index']]}")

# %%
# All 48 labels by quality, the probability that a label is right. Those that are wrong in truth are marked.

quality = np.sort(model.label_quality_[labelled])
is_wrong = (y != truth)[labelled][np.argsort(model.label_quality_[labelled])]
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
place = np.arange(quality.size)
axis.plot(place[~is_wrong], quality[~is_wrong], "o", label="right")
axis.plot(place[is_wrong], quality[is_wrong], "x", ms=8, mew=2, label="wrong")
axis.set(xlabel="labels, lowest quality first", ylabel="quality")
axis.legend()
plt.show()
