"""Folders, patterns and standard input; options of reading; the program."""

import gzip

import numpy as np
import pandas as pd
import pytest

import rhokit
from rhokit import DMKDE, fit_files
from rhokit.errors import DataNote
from tests.cli.support import SMALL, refused, run
from tests.streams.ugly import ALL, PLAIN

RNG = np.random.default_rng(0)


def rows(n=60):
    return pd.DataFrame(
        {"a": RNG.normal(size=n).round(3), "b": RNG.normal(size=n).round(3)}
    )


def german(frame):
    return frame.to_csv(index=False, sep=";", decimal=",")


class TestSources:
    def test_patterns(self, tmp_path):
        for name in ("2024-1", "2024-2", "2023-1"):
            rows(30).to_csv(tmp_path / f"{name}.csv", index=False)
        assert len(rhokit.read_table(tmp_path / "2024-*.csv")) == 60
        with pytest.raises(FileNotFoundError, match=r"no file is called like"):
            rhokit.read_table(tmp_path / "2025-*.csv")

    def test_files_of_a_folder_may_be_written_in_other_ways(self, tmp_path):
        frame = rows(40)
        (tmp_path / "1.csv").write_text(german(frame[:20]), encoding="utf-16")
        frame[20:30].to_csv(tmp_path / "2.tsv", index=False, sep="\t")
        packed = gzip.compress(frame[30:].to_csv(index=False).encode())
        (tmp_path / "3.csv.gz").write_bytes(packed)
        with pytest.warns(DataNote, match=r"1\.csv: read with delimiter=';'"):
            found = rhokit.read_table(tmp_path)
        pd.testing.assert_frame_equal(found, frame)

    @pytest.mark.parametrize("frame", ["pandas", "polars", "arrow"])
    def test_frames_of_any_library(self, tmp_path, frame):
        (tmp_path / "t.csv").write_text(PLAIN)
        found = rhokit.read_table(tmp_path / "t.csv", frame=frame)
        assert type(found).__module__.split(".")[0].replace("pyarrow", "arrow") == frame
        assert found.shape == (4, 3)

    def test_no_such_frame(self, tmp_path):
        with pytest.raises(ValueError, match="frame must be one of"):
            rhokit.read_table(tmp_path, frame="R")


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"delimiter": "::"}, "delimiter must be one character, got '::'"),
            ({"decimal": ";"}, "decimal must be '.' or ',', got ';'"),
            ({"decimal": ",", "delimiter": ","}, "delimiter and decimal must differ"),
            ({"encoding": "latin-99"}, "encoding must be one such as 'utf-8'"),
        ],
    )
    def test_those_that_cannot_be(self, tmp_path, options, said):
        (tmp_path / "t.csv").write_text(PLAIN)
        with pytest.raises(ValueError, match=said):
            rhokit.read_table(tmp_path / "t.csv", **options)

    def test_those_that_are_none(self, tmp_path):
        with pytest.raises(TypeError, match="'separator' is no option of reading"):
            rhokit.read_table(tmp_path, separator=";")

    def test_a_fit_takes_them(self, tmp_path):
        frame = rows()
        (tmp_path / "t.csv").write_text(german(frame))
        model = DMKDE(n_components=16, gamma=1.0, scale=None, random_state=0)
        fit_files(model, tmp_path / "t.csv", delimiter=";", decimal=",")
        np.testing.assert_allclose(
            model.score_samples(frame),
            DMKDE(**model.get_params()).fit(frame).score_samples(frame),
        )


class TestProgram:
    @pytest.fixture
    def path(self, tmp_path):
        (tmp_path / "t.csv").write_text(german(rows()), encoding="utf-16")
        return tmp_path / "t.csv"

    def test_what_was_detected_is_said_in_one_line(self, path, tmp_path):
        result = run("fit", path, *SMALL, "-o", tmp_path / "m.rho").fine()
        assert result.err == (
            f"rhokit fit: note: {path}: read with --delimiter ';', --decimal ',', "
            "--encoding utf-16\n"
        )
        quiet = run("fit", path, *SMALL, "-q", "-o", tmp_path / "m.rho").fine()
        assert quiet.err == ""
        given = ("--delimiter", ";", "--decimal", ",", "--encoding", "utf-16")
        result = run("score", tmp_path / "m.rho", path, *given).fine()
        assert result.err == ""

    def test_standard_input(self, path, tmp_path):
        model = tmp_path / "m.rho"
        call = ("fit", "-", *SMALL, "-o", model)
        result = run(*call, stdin=path.read_bytes()).fine()
        assert "note: standard input: read with --delimiter" in result.err

    def test_options_that_cannot_be(self, path, tmp_path):
        model = tmp_path / "m.rho"
        call = ("fit", path, "-o", model)
        refused(run(*call, "--delimiter", "::"), 2, "--delimiter must be one character")
        refused(run(*call, "--encoding", "x"), 2, "--encoding must be one such as")

    def test_marks_and_no_names(self, tmp_path):
        text = "".join(f"{a};{b}\n" for a, b in rows().to_numpy())
        (tmp_path / "t.csv").write_text(text + "-9;1\n1;-9\n" * 3)
        call = ("--no-header", "--missing-marks", "-9,-99", "--missing", "drop")
        result = run(
            *("fit", tmp_path / "t.csv", *call, *SMALL, "--json"),
            *("-o", tmp_path / "m.rho"),
        ).fine()
        assert result.json["rows"] == 60
        assert result.json["columns"] == ["column_1", "column_2"]

    def test_ids_are_left_out_and_may_be_kept(self, tmp_path):
        rows().assign(id=range(60)).to_csv(tmp_path / "t.csv", index=False)
        call = ("fit", tmp_path / "t.csv", *SMALL, "--json", "-o", tmp_path / "m.rho")
        result = run(*call).fine()
        assert result.json["columns"] == ["a", "b"]
        assert "note: left out columns that say nothing about a row: id" in result.err
        assert "--keep-all" in result.err
        assert run(*call, "--keep-all").fine().json["columns"] == ["a", "b", "id"]

    @pytest.mark.parametrize("kind", [k for k, ugly in ALL.items() if ugly.refused])
    def test_ugly_files_end_in_a_line(self, tmp_path, kind):
        ugly = ALL[kind]
        if ugly.options:
            return
        path = tmp_path / ugly.name
        path.write_bytes(ugly.data)
        result = run("fit", path, *SMALL, "-o", tmp_path / "m.rho")
        assert result.code == 1
        *notes, line = result.err.splitlines()
        assert all(": note: " in note for note in notes)
        assert line.startswith("rhokit fit: ")
        assert ugly.name in line
        assert "Traceback" not in result.err
