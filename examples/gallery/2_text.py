"""
Text: messages to a help desk
=============================

A help desk receives short messages and sorts them into four queues. Some were sorted by hand, by people who were new
to the job. Messages of one queue share words, so the words make the neighbourhoods.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from siis import SIISClassifier

# %%
# The messages are put together from phrases here, so that the example needs no download. Greetings and requests are
# common to all queues, some words ("card", "charged", "broken") to two, and every message ends with a remark that may
# be about another queue.

PHRASES = {
    "billing": "the invoice|my refund|a payment|my credit card|the monthly fee|the receipt|was charged twice"
    "|is too high|shows the wrong amount|was not booked|needs a tax number|has not been paid back",
    "delivery": "the parcel|my order|the courier|the shipment|the tracking number|the package|has not arrived"
    "|went to the wrong address|is still in the depot|was left outside|is three days late|arrived broken",
    "login": "my password|the account|the reset mail|the login page|two-factor sign-in|my user name|does not work"
    "|is locked|never reaches me|says invalid code|asks me again and again|was changed by someone",
    "device": "the battery|the screen|my charger|the memory card|the speaker|the new device|is broken|gets very hot"
    "|makes a noise|cannot be charged|turns itself off|has a crack",
}
OPENINGS = ["hello,", "good morning,", "hi there,", "dear team,", "sorry to bother you:", "urgent!", "once more:"]
CLOSINGS = ["please help", "thank you", "what can I do?", "please call me", "I need it this week", "any news?"]


def message(queue, rng):
    """One message: a greeting, a subject with two troubles, a request, and a remark about anything."""
    phrases = {name: text.split("|") for name, text in PHRASES.items()}
    complaint = rng.choice(phrases[queue][:6]) + " " + " and ".join(rng.choice(phrases[queue][6:], 2, replace=False))
    remark = rng.choice(phrases[rng.choice(list(PHRASES))][:6])
    return f"{rng.choice(OPENINGS)} {complaint}, {rng.choice(CLOSINGS)} PS: {remark} is fine now"


rng = np.random.default_rng(0)
truth = np.repeat(list(PHRASES), 150)
messages = [message(queue, rng) for queue in truth]
print(messages[0], messages[200], messages[400], sep="\n")

# %%
# Twelve messages of each queue carry a label, and four of those twelve are in a wrong queue. Among strings, ``None``
# means unlabelled.

y = np.full(truth.size, None, dtype=object)
labelled = np.concatenate([rng.choice(np.flatnonzero(truth == queue), 12, replace=False) for queue in PHRASES])
y[labelled] = truth[labelled]
for start in range(0, labelled.size, 12):
    wrong = labelled[start : start + 4]
    y[wrong] = [rng.choice([other for other in PHRASES if other != truth[i]]) for i in wrong]

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

for row in model.label_issues().rows()[:6]:
    print(f"{row['given']:>8} -> {row['suggested']:<8}  quality {row['quality']:.2f}  {messages[row['index']]}")
