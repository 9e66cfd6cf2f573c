"""Names and values that would talk to the terminal, or to a spreadsheet."""

import csv
import gzip
import io
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rhokit.cli.console import printable
from tests.cli.support import SMALL, run

# Clears the screen, sets the window's title, hides text, writes from right to left.
EVIL = "\x1b[2J\x1b]0;owned\x07\x9b8m\r\b\u202e"
FORMULAS = ['=HYPERLINK("http://x")', "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1"]


def shows_nothing_raw(text):
    """Whether a terminal gets letters, new lines and the program's own styles alone."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return all(each.isprintable() or each == "\n" for each in text)


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """Data whose columns, labels, values and file have such names, and a model."""
    folder = tmp_path_factory.mktemp("evil")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    side = np.where(X[:, 0] > 0, f"yes{EVIL}[red]", f"no{EVIL}")
    columns = {f"a{EVIL}": X[:, 0], f"b{EVIL}[bold]": X[:, 1], f"y{EVIL}": side}
    data = folder / f"rows{EVIL}.parquet"
    pq.write_table(pa.table(columns), data)
    one_sided = {name: values[side == side[0]] for name, values in columns.items()}
    pq.write_table(pa.table(one_sided), folder / "one.parquet")
    model = folder / f"model{EVIL}.rho"
    fit = ("fit", data, "--target", f"y{EVIL}", *SMALL)
    run(*fit, "-o", model).fine()
    like = ("fit", folder / "one.parquet", "--like", model)
    run(*like, "-o", folder / "one.rho").fine()
    return folder, data, model


CALLS = {
    "fit": lambda f, d, m: ("fit", d, "--target", f"y{EVIL}", "-o", f / "x.rho"),
    "info": lambda f, d, m: ("info", m),
    "score": lambda f, d, m: ("score", m, d, "--keep", "all"),
    "predict": lambda f, d, m: ("predict", m, d, "--keep", "all"),
    "predict to a file": lambda f, d, m: ("predict", m, d, "-o", f / f"p{EVIL}.csv"),
    "anomalies": lambda f, d, m: ("anomalies", m, d, "-o", f / f"a{EVIL}.csv"),
    "compare": lambda f, d, m: ("compare", m, f / "one.rho", "--level", "1e-300"),
    "merge": lambda f, d, m: ("merge", m, m, "-o", f / f"two{EVIL}.rho"),
    "export": lambda f, d, m: ("export", m, "-o", f / f"graph{EVIL}.onnx"),
    "report": lambda f, d, m: ("report", m, d, "-o", f / f"page{EVIL}.html"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nothing_raw_reaches_the_terminal(call, evil):
    result = run(*call(*evil), screen=True).fine()
    assert shows_nothing_raw(result.out + result.err)
    assert "\\x1b[2J" in result.out


@pytest.mark.parametrize(
    "call",
    [
        lambda f, d, m: ("info", f / f"nowhere{EVIL}"),
        lambda f, d, m: ("predict", m, d, "--keep", f"z{EVIL}"),
        lambda f, d, m: ("info", m, f"--more{EVIL}"),
        lambda f, d, m: ("info", f / f"nowhere{EVIL}", "--debug"),
        lambda f, d, m: (f"in{EVIL}fo",),
    ],
    ids=["file", "column", "option", "traceback", "command"],
)
def test_nothing_raw_in_errors(call, evil):
    result = run(*call(*evil), screen=True)
    assert result.code != 0
    assert shows_nothing_raw(result.out + result.err)


def test_programs_get_names_as_they_are(evil):
    _, data, model = evil
    result = run("predict", model, data, "--json").fine()
    assert shows_nothing_raw(result.out)
    assert set(result.json["predicted"]) == {f"yes{EVIL}[red]", f"no{EVIL}"}


def test_other_writing_stays_as_it_is():
    text = "Größe 價格 \N{ZERO WIDTH JOINER} é\u0301 [red] \\n"
    assert printable(text) == text
    assert printable("a\nb\tc\x7f\udcff") == "a\\nb\\tc\\x7f\\udcff"
    assert printable("a\u00a0b\u3000c") == "a b c"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model, and rows with cells that look like formulas."""
    folder = tmp_path_factory.mktemp("formulas")
    rng = np.random.default_rng(0)
    n = 10 * len(FORMULAS)
    table = pa.table(
        {
            "a": rng.normal(size=n),
            "=b": rng.normal(size=n),
            "text": FORMULAS * 10,
            "number": ["-1.5", "+2", "-inf"] * (n // 3),
        }
    )
    data = folder / "rows.parquet"
    pq.write_table(table, data)
    fit = ("fit", data, "--columns", "a,=b", "--target", "text", *SMALL)
    run(*fit, "-o", folder / "model.rho").fine()
    return folder / "model.rho", data


class TestFormulas:
    """Cells that a spreadsheet would run."""

    CALLS = (("score",), ("predict",), ("anomalies", "-k", "60"))

    @pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
    @pytest.mark.parametrize("ending", ["csv", "tsv.gz", None])
    def test_are_texts_if_asked_for(self, files, call, ending, tmp_path):
        rows = self.answers(files, call, ending, tmp_path, "--escape-formulas")
        names, cells = rows[0], [cell for row in rows[1:] for cell in row]
        assert "'=b" in names
        risky = [c for c in [*names, *cells] if c[:1] in "=+-@\t\r" and c]
        assert {each for each in risky if not is_number(each)} == set()
        assert {f"'{each}" for each in FORMULAS} <= set(cells)
        assert {"-1.5", "+2", "-inf"} <= set(cells)

    @pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
    def test_are_kept_for_machines(self, files, call, tmp_path):
        rows = self.answers(files, call, "csv", tmp_path)
        cells = {cell for row in rows for cell in row}
        assert {"=b", *FORMULAS} <= cells

    def answers(self, files, call, ending, folder, *options):
        keep = () if call[0] == "anomalies" else ("--keep", "all")
        call = (*call, *files, *keep, *options)
        if ending is None and call[0] != "anomalies":
            text, ending = run(*call).fine().out, "csv"
        else:
            out = folder / f"out.{ending or 'csv'}"
            run(*call, "-o", out).fine()
            opened = gzip.open if out.suffix == ".gz" else open
            with opened(out, "rt", encoding="utf-8", newline="") as file:
                text = file.read()
        delimiter = "\t" if "tsv" in (ending or "") else ","
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
