"""
Sound: spoken vowels
====================

A field linguist has six hundred short recordings of five vowels. A tired student labelled some of them. Sound becomes
rows of numbers by way of its spectrum, in bands as wide as the ear's; what follows is the same as for pictures.
"""

import matplotlib.pyplot as plt
import numpy as np

from siis import SIISClassifier
from siis.datasets import contaminate, draw_labelled

RATE = 8000
FORMANTS = {
    "a": (750, 1250, 2500),
    "e": (480, 1950, 2550),
    "i": (290, 2250, 2900),
    "o": (470, 850, 2450),
    "u": (320, 750, 2300),
}
VOWELS = list(FORMANTS)

# %%
# A vowel is a sum of harmonics; throat and mouth raise those near its formants. Every recording has its own pitch,
# length of the throat, and noise.


def recording(vowel, rng):
    """A quarter of a second of one speaker's vowel."""
    time = np.arange(RATE // 4) / RATE
    pitch, throat = rng.uniform(95, 230), rng.normal(1, 0.06)
    harmonics = pitch * np.arange(1, int(3800 / pitch))
    peaks = np.array(FORMANTS[vowel]) * throat
    loudness = (1 / (1 + ((harmonics[:, None] - peaks) / 90) ** 2)).sum(axis=1) / np.sqrt(harmonics)
    phases = rng.uniform(0, 2 * np.pi, harmonics.size)
    sound = loudness @ np.sin(2 * np.pi * harmonics[:, None] * time + phases[:, None])
    return sound + 0.6 * sound.std() * rng.standard_normal(time.size)


def mel_bands(sound, n_bands=24):
    """Logarithm of the energy in overlapping bands that are evenly spaced in mel."""
    energy = np.abs(np.fft.rfft(sound * np.hanning(sound.size))) ** 2
    frequency = np.fft.rfftfreq(sound.size, 1 / RATE)
    edges = 700 * (10 ** (np.linspace(100, 2100, n_bands + 2) / 2595) - 1)
    rising = (frequency - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequency) / np.diff(edges)[1:, None]
    return np.log(np.clip(np.minimum(rising, falling), 0, None) @ energy)


rng = np.random.default_rng(0)
truth = np.repeat(np.arange(len(VOWELS)), 120)
X = np.array([mel_bands(recording(VOWELS[k], rng)) for k in truth])

# %%
# Twelve labels for each vowel, three in ten of them wrong.

y = np.full(truth.size, -1)
labelled = draw_labelled(truth, per_class=12, random_state=1)
y[labelled] = truth[labelled]
y = contaminate(y, 0.3, random_state=1)
model = SIISClassifier().fit(X, y)
rest = y < 0
print(f"right on unlabelled recordings: {np.mean(model.transduction_[rest] == truth[rest]):.1%}")
in_truth = np.mean(y[labelled] != truth[labelled])
print(f"wrong labels: about {model.noise_rate_:.0%} (in truth {in_truth:.0%})")

# %%
# Which vowels are taken for which. Most mistakes are an i taken for an e: their formants are alike, and a long throat
# lowers those of the i.

figure, axis = plt.subplots(figsize=(4.5, 4), layout="constrained")
counts = np.zeros((len(VOWELS), len(VOWELS)), dtype=int)
np.add.at(counts, (truth[rest], model.transduction_[rest]), 1)
axis.imshow(counts, cmap="Blues")
for (i, j), count in np.ndenumerate(counts):
    axis.text(j, i, count, ha="center", va="center", color="white" if count > 60 else "black")
axis.set_xticks(range(5), VOWELS)
axis.set_yticks(range(5), VOWELS)
axis.set(xlabel="answer", ylabel="spoken")
plt.show()
