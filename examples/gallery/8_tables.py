"""
From pandas and polars
======================

Wines of three growers with thirteen chemical measurements, in a table. Some rows have a grower, most do not, and some
growers are wrong. Data frames go in as they are, and the lists that come out make data frames again.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from siis import SIISClassifier
from siis.tables import TableEncoder

wine = load_wine(as_frame=True)
truth = wine.target.map({0: "Adler", 1: "Brandt", 2: "Conti"})

# %%
# A usual table: a column of labels, most of them missing, and columns of numbers.

rng = np.random.default_rng(4)
table = wine.data.assign(grower=truth.where(rng.random(truth.size) < 0.35))
given = table.index[table.grower.notna()]
table.loc[given[::6], "grower"] = table.loc[given[::6], "grower"].map(
    {"Adler": "Brandt", "Brandt": "Conti", "Conti": "Adler"}
)
print(table[["alcohol", "magnesium", "hue", "proline", "grower"]].head(6))

# %%
# Measurements may have different units: the default tries them as given and scaled to unit variance.

X, y = table.drop(columns="grower"), table.grower
model = SIISClassifier().fit(X, y)
print(f"{len(given)} of {len(table)} rows have a grower; space of the leading graph: {model.leading_graph_.space}")
print(f"growers right in all rows: {np.mean(model.transduction_ == truth):.1%}")

# %%
# The suspects as a data frame, joined to the measurements.

suspects = pd.DataFrame(model.label_issues()).set_index("index")
shown = suspects[["given", "suggested", "quality"]].join(X[["alcohol", "hue", "proline"]])
print(shown.round(2))

# %%
# Two of the thirteen measurements, all wines in the colour of the answer, and circles around the suspects.

figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for name in model.classes_:
    rows = model.transduction_ == name
    axis.plot(X.flavanoids[rows], X.proline[rows], "o", ms=4, label=name)
axis.plot(X.flavanoids[suspects.index], X.proline[suspects.index], "ko", ms=10, mfc="none")
axis.set(xlabel="flavanoids", ylabel="proline")
axis.legend()
plt.show()

# %%
# The same with polars gives the same answer, to the last bit.

frame = pl.from_pandas(table)
again = SIISClassifier().fit(frame.drop("grower"), frame["grower"])
print(np.array_equal(again.label_distributions_, model.label_distributions_))
answered = frame.with_columns(answer=pl.Series(again.transduction_))
print(answered.select("alcohol", "grower", "answer").head(4))

# %%
# Tables are seldom all numbers. :class:`siis.tables.TableEncoder` turns money, dates, yes or no and categories into
# features, as ``siis fit`` does with files, and says what became of each column.

rough = table.drop(columns="grower").assign(
    bottle=np.arange(1, len(table) + 1),
    proline=[f"{value:,.0f} mg" for value in table.proline],
    magnesium=table.magnesium.astype(str).where(table.index % 9 > 0, "?"),
    hue=np.where(table.hue > 0.9, "ruby", "brick"),
    tasted=pd.Timestamp("2021-09-01") + pd.to_timedelta(rng.integers(60, size=len(table)), unit="D"),
)
print(rough[["bottle", "proline", "magnesium", "hue", "tasted"]].head(4))

# %%
# A pipeline does both steps.

pipeline = make_pipeline(TableEncoder(), SIISClassifier()).fit(rough, table.grower)
for note in pipeline[0].notes_:
    print(note)
print(f"growers right in all rows: {np.mean(pipeline[-1].transduction_ == truth):.1%}")
