"""
A stream that forgets
=====================

Four years of Seattle's weather, day by day. The model fades by the day, so that it
always describes the last weeks: where are temperatures now?
"""

import matplotlib.pyplot as plt
import numpy as np
from vega_datasets import data

from rhokit import DMKDE, GridFeatures, Stream

weather = data.seattle_weather()
warmest = weather[["temp_max"]].to_numpy()
box = GridFeatures(bounds=[[-10], [45]])
model = DMKDE(feature_map=box, gamma=0.1, scale=None, random_state=0)
stream = Stream(model, warm_up=100, half_life=30)
levels, days = np.linspace(-5, 38, 120)[:, None], []
for day, row in enumerate(warmest):
    stream.learn_one(row)
    if day >= 100 and day % 5 == 0:
        days.append((day, stream.model.density(levels)))

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
image = np.array([density for _, density in days]).T
when = weather["date"].iloc[[day for day, _ in days]]
ax.pcolormesh(when, levels[:, 0], image, cmap="magma_r", shading="nearest")
ax.plot(weather["date"][100:], warmest[100:, 0], ".", ms=1.5, color="#2c5d8a")
ax.set(
    ylabel="highest temperature (°C)", title="Density of the last weeks, and each day"
)
