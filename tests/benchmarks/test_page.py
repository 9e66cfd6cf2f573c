"""The page says what the lines say: figures, order, losses, absences."""

import math
import re

import numpy as np
import pytest
from PIL import Image
from scipy.stats import rankdata

from benchmarks import page
from benchmarks.figures import density, maps, readings, style
from benchmarks.records import Goal, Result, verdict
from benchmarks.runs import SECONDS
from tests.benchmarks import page_lines

LARGEST_FILE = 150_000
NONE = {"total_seconds": None, "values": [], "sizes": [], "errors": []}


@pytest.fixture(scope="module")
def lines():
    return page_lines.everything()


@pytest.fixture(scope="module")
def written(lines, tmp_path_factory):
    return page.write(lines, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def text(written):
    return written.read_text(encoding="utf-8")


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without their pictures, for tests of what is written."""
    monkeypatch.setattr(style, "save", lambda figure, path: path.touch())


def rows_of(text, first):
    """Cells of the table whose heading begins so."""
    found = text[text.index(f"| {first} |") :].split("\n\n")[0]
    cells = [
        [c.strip() for c in line.strip("| ").split(" | ")]
        for line in found.strip().splitlines()
    ]
    return cells[0], cells[2:]


def block(text, start):
    """The folded part whose summary begins so."""
    begin = text.index(f"<summary>{start}")
    return text[begin : text.index("</details>", begin)]


# ---- the whole ---------------------------------------------------------------------


def test_all_sections_are_there_in_order(text):
    places = [text.index(f"## {title}\n") for title in page.TITLES.values()]
    assert places == sorted(places)
    assert "`make bench-full`" in text
    assert "quick run" not in text


def test_every_picture_is_there_small_and_only_those(written, text):
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert len(links) == len(set(links)) >= 8
    files = {
        p.relative_to(written.parent).as_posix() for p in written.parent.rglob("*.png")
    }
    assert set(links) == files
    for link in links:
        path = written.parent / link
        assert path.stat().st_size < LARGEST_FILE
        with Image.open(path) as picture:
            assert picture.width <= 1400
            assert len(picture.convert("L").getcolors()) > 10


def test_machine_versions_and_durations_are_said(undrawn, tmp_path):
    made = {
        "hardware": page_lines.lines("hardware", page_lines.hardware(True), seconds=65),
        "scaling": page_lines.lines("scaling", page_lines.scaling(True), seconds=600),
    }
    made["hardware"] += page_lines.lines("hardware", [], seconds=30)
    text = page.write(made, tmp_path).read_text(encoding="utf-8")
    assert "A processor, 2 cores" in text
    assert "python 3.11.7, numpy 2.4.6\n" in text
    _, rows = rows_of(text, "section")
    assert [row[2] for row in rows] == ["95 s", "10 min"]
    assert [row[3] for row in rows] == ["2", "1"]


def test_missing_sections_have_a_sentence(undrawn, tmp_path, lines):
    text = page.write({"scaling": lines["scaling"], "maps": []}, tmp_path).read_text()
    for section in ("density", "anomalies", "supervised", "maps", "hardware"):
        assert f"No results: `python -m benchmarks {section}` makes them." in text
    assert "benchmarks scaling`" not in text


def test_a_page_of_nothing_can_be_written(tmp_path):
    assert "No line has a goal" in page.write({}, tmp_path).read_text()


def test_quick_runs_say_so(undrawn, tmp_path):
    quick = {"scaling": page_lines.everything(quick=True)["scaling"]}
    text = page.write(quick, tmp_path).read_text(encoding="utf-8")
    assert "quick run" in text
    assert "benchmarks/results/quick/*.jsonl" in text


@pytest.mark.parametrize("section", page.TITLES)
def test_lines_without_any_value_are_no_error(section, lines, tmp_path):
    """Also no line but the marks."""
    empty = [
        line | {"value": None, "details": line["details"] | {"reason": "lost", **NONE}}
        for line in lines[section]
        if line["metric"] != SECONDS
    ]
    marks = [line for line in lines[section] if line["metric"] == SECONDS]
    for given in (empty, marks):
        page.write({section: given}, tmp_path)
    assert not list(tmp_path.rglob("*.png"))


def test_the_same_lines_make_the_same_bytes(lines, tmp_path):
    given = {"hardware": lines["hardware"]}
    for folder in ("a", "b"):
        page.write(given, tmp_path / folder)
    first, second = (
        sorted(p for p in (tmp_path / folder).rglob("*") if p.is_file())
        for folder in ("a", "b")
    )
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert len(first) == 2


# ---- goals -------------------------------------------------------------------------


def test_goals_are_listed_with_the_missed_ones_first(text, lines):
    asked = [
        line for group in lines.values() for line in group if line["goal"] is not None
    ]
    missed = sum(verdict(line) is False for line in asked)
    assert 0 < missed < len(asked)
    _, rows = rows_of(text, "section | case")
    assert [row[-1] for row in rows] == (
        ["**NO**"] * missed + ["yes"] * (len(asked) - missed)
    )
    assert f"{len(asked) - missed} of {len(asked)} goals met" in text


def test_a_goal_without_a_value_is_missed_and_bounds_are_said(undrawn, tmp_path):
    made = [
        Result("a", "x", float("nan"), Goal(at_least=1, at_most=2)),
        Result("b", "x", 3.0, Goal(at_least=2.5)),
    ]
    given = {"scaling": page_lines.lines("scaling", made)}
    _, rows = rows_of(page.write(given, tmp_path).read_text(), "section | case")
    assert rows[0][1:3] + rows[0][4:] == ["a", "x", "–", "1 to 2", "**NO**"]
    assert rows[1][4:] == ["3", "≥ 2.5", "yes"]


# ---- densities ---------------------------------------------------------------------


def test_every_case_has_a_table_with_every_contestant(text, lines):
    cases = {line["details"]["case"] for line in readings.results(lines["density"])}
    chapter = text[text.index("### Every case") : text.index("## Held-out")]
    assert chapter.count("<details>") == len(cases)
    for name, ours, *_ in page_lines.DENSITIES:
        shown = f"| **{name}** |" if ours else f"| {name} |"
        assert chapter.count(shown) == len(cases)


def test_a_case_is_sorted_by_time_and_says_what_was_measured(text, lines):
    scores = {
        line["details"]["contestant"]: line
        for line in lines["density"]
        if line["metric"] == density.ERROR
        and line["details"]["data"] == "spirals"
        and line["details"]["n"] == 100_000
        and line["details"]["bandwidth"] == "Scott"
    }
    part = block(text, "spirals, d = 2, Scott, N = 100,000")
    heads, rows = rows_of(part, "contestant")
    place = {head: i for i, head in enumerate(heads)}
    names = [row[0].strip("*") for row in rows]
    times = [scores[name]["details"]["total_seconds"]["100000"] for name in names]
    assert times == sorted(times)
    for name, row in zip(names, rows, strict=True):
        row += [""] * (len(heads) - len(row))
        error = float(row[place["relative RMSE"]])
        assert error == pytest.approx(scores[name]["value"], rel=0.05)
        seconds = row[place["+ 100,000 queries"]]
        timed = scores[name]["details"]["timed_queries"]["100000"]
        assert seconds.startswith("~") == (timed < 100_000)
        number = float(seconds.strip("~").replace(",", ""))
        assert number == pytest.approx(times[names.index(name)], rel=0.01)


def test_losses_are_losses(text, lines):
    beaten = [line for line in lines["density"] if line["metric"] == density.BEATEN]
    rivals = [line["details"]["rivals"] for line in beaten]
    assert any(rivals)
    assert text.count("**beats rhokit**") == sum(map(len, rivals))
    won = sum(not names for names in rivals)
    assert f"In {won} of {len(rivals)} cases no rival is both" in text
    _, rows = rows_of(text, "data")
    assert sum(row[-1] == "**KDEpy FFTKDE**" for row in rows) == len(rivals) - won


def field(*entries, rivals=None):
    facts = {"case": "x", "data": "rows", "d": 3, "n": 10, "bandwidth": "Scott"}
    made = [
        Result(f"x: {e['contestant']}", density.ERROR, error, details=facts | e)
        for error, e in entries
    ]
    if rivals is not None:
        about = facts | {"rivals": rivals, "judged": "auto"}
        made.append(Result("x", density.BEATEN, len(rivals), details=about))
    return density.Field(page_lines.lines("density", made)[:-1])


def test_absent_contestants_stand_last_with_their_reason():
    times = {"1000": 1.0, "100000": 2.0}
    case = field(
        (None, page_lines.absence("lazy", False, "more than\n 60 s | really")),
        (math.nan, page_lines.score("odd", False, 5.0, times, nothing=0.25)),
        (1e-3, page_lines.score("rhokit auto", True, 1.0, times)),
    )
    _, rows = rows_of(case.table(), "contestant")
    assert [row[0] for row in rows] == ["**rhokit auto**", "odd", "lazy"]
    assert rows[1][4] == "–"
    assert rows[1][-1] == "no density at 25 % of the queries"
    assert rows[2][1:7] == ["–"] * 6
    assert case.table().count("more than 60 s \\| really") == 1
    assert case.headline().endswith("not judged")


def test_a_case_without_rhokit_is_no_error(undrawn, tmp_path):
    gone = page_lines.absence("rhokit auto", True, "ended with code 1")
    for entries in ([gone], []):
        there = page_lines.score("exact", False, 1.0, {"100000": 2.0})
        case = field((0.0, there), *((None, each) for each in entries))
        text = density._summary([case])
        assert "ended with code 1" in text or "did not take part" in text


# ---- the other sections ------------------------------------------------------------


def test_standings_of_detectors(text, lines):
    found = readings.of_metric(lines["anomalies"], "ROC AUC")
    clean = [line for line in found if line["details"]["setting"] == "clean"]
    sets = sorted({line["details"]["set"] for line in clean})
    names = [name for name, _ in page_lines.DETECTORS]
    values = np.zeros((len(sets), len(names)))
    for line in clean:
        details = line["details"]
        place = sets.index(details["set"]), names.index(details["contestant"])
        values[place] += -np.inf if line["value"] is None else line["value"] / 2
    areas = np.where(np.isinf(values), 0.5, values)
    ranks = rankdata(-values, axis=1).mean(axis=0)
    part = text[text.index("### Clean\n") :]
    _, rows = rows_of(part, "detector")
    means = [float(row[1].strip("*")) for row in rows]
    assert means == sorted(means, reverse=True)
    for row in rows:
        i = names.index(row[0].strip("*"))
        assert float(row[1].strip("*")) == pytest.approx(areas[:, i].mean(), abs=6e-4)
        assert float(row[2].strip("*")) == pytest.approx(ranks[i], abs=6e-3)
        apart = areas[:, 0] - areas[:, i]
        error = apart.std(ddof=1) / np.sqrt(len(sets))
        assert row[4] == ("–" if i == 0 else f"{apart.mean():+.3f} ± {error:.3f}")
    assert "- PyOD KNN on http: more than 600 s\n" in part


def test_the_best_learner_of_a_set_is_bold(text, lines):
    means = {}
    for line in readings.of_metric(lines["supervised"], "RMSE"):
        of_set = means.setdefault(line["details"]["set"], {})
        if line["value"] is not None:
            splits = of_set.setdefault(line["details"]["contestant"], [])
            splits.append(line["value"])
    part = text[text.index("#### RMSE\n") :]
    heads, rows = rows_of(part, "set")
    names = [head.strip("*") for head in heads[2:]]
    for given, _, *cells in rows:
        best = min(means[given], key=lambda name: np.mean(means[given][name]))
        assert cells[names.index(best)].startswith(
            f"**{np.mean(means[given][best]):.3f}"
        )
        assert sum(cell.startswith("**") for cell in cells) == 1
    assert "- GaussianProcessRegressor: ended with code -9 | no memory (kin8nm)" in text


def test_the_best_map_at_each_size(text, lines):
    scores = [line for line in lines["maps"] if line["metric"] == maps.ERROR]
    heads, rows = rows_of(text, "D")
    assert heads == ["D", "1-D", "2-D", "10-D", "40-D"]
    assert [row[0] for row in rows] == ["16", "32", "64", "128"]
    for row in rows:
        for panel, cell in zip(heads[1:], row[1:], strict=True):
            rivals = [
                line
                for line in scores
                if line["details"]["panel"] == panel
                and line["details"]["size"] == int(row[0])
            ]
            least = min(rivals, key=lambda line: line["value"])["details"]
            rule = f", {least['rule']}" if least["rule"] else ""
            assert cell.startswith(f"{least['map']}{rule} (")
    assert f"- 2-D: grid, {page_lines.GRID_SIZE} coefficients: error 3.0e-11" in text


def test_shares_stand_by_step_and_threads(text):
    heads, rows = rows_of(text, "map")
    assert heads == [
        "map",
        "fit, 1 core",
        "fit, 2 cores",
        "predict, 1 core",
        "predict, 2 cores",
        "choosing",
        "columns",
    ]
    shares = ["0.71", "0.66", "1.30", "1.25"]
    assert rows[1] == ["fourier complex, iid", *shares, "–", "9 %"]
    assert rows[-1][0] == "grid"
    assert "21,000,000 rows/s" in rows[-1]


def test_curves_have_their_ends_and_exponents(text):
    _, rows = rows_of(text, "model")
    assert rows[0][:6] == [
        "grid 1-D",
        "training rows",
        "fit seconds",
        "10,000 → 10,000,000",
        "3 → 3,000",
        "1.00",
    ]
    assert rows[2][5] == "0.00"
