"""
Rare colours of a photograph
============================

A photograph is a table with a row per pixel and a column per colour. Its density says
which colours are rare; painting pixels by it finds what stands out.

Photograph: ``flower.jpg`` of scikit-learn's samples, by vultilion on Flickr, CC BY 2.0.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_sample_image

from rhokit import DMKDE

image = load_sample_image("flower.jpg")[::3, ::3]
pixels = image.reshape(-1, 3).astype(float)
model = DMKDE(random_state=0).fit(pixels[::4])
surprise = -model.score_samples(pixels).reshape(image.shape[:2])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(image)
axes[0].set_title("the photograph")
shown = axes[1].imshow(surprise, cmap="magma")
axes[1].set_title("minus the log-density of its colours")
figure.colorbar(shown, ax=axes[1], label="nats")
for ax in axes:
    ax.set_axis_off()
