"""Outputs that cannot be, and inputs that stay as they are."""

import os

import pytest

from tests.cli.support import ROWS, SMALL, refused, rows_table, run, write_csv
from tests.cli.test_mistakes import WITH_DATA, WITH_MODEL, text_among_numbers


def snapshot(folder):
    """Names and contents of everything in a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path: path.read_bytes() for path in files}


def outputs(models, data, folder):
    """Calls with an output that is an input."""
    rows, model = data / "rows.csv", models["classes"]
    yield "fit", rows, *ROWS, *SMALL, "-o", rows
    yield "fit", rows, "--like", model, "-o", model
    yield "score", model, rows, "-o", rows
    yield "predict", model, rows, "-o", rows
    yield "anomalies", model, rows, "-o", rows
    yield "merge", model, model, "-o", model
    yield "score", model, folder / "link" / "rows.csv", "-o", rows


def test_inputs_are_never_overwritten(data, models, tmp_path):
    (tmp_path / "link").symlink_to(data)
    before = snapshot(data) | snapshot(models["density"].parent)
    for call in outputs(models, data, tmp_path):
        refused(run(*call), 2, "is one of the inputs")
    assert snapshot(data) | snapshot(models["density"].parent) == before


def test_answers_are_not_added_to_a_folder_that_is_read(models, tmp_path):
    write_csv(rows_table(), tmp_path / "rows.csv")
    call = ("score", models["density"], tmp_path, "-o", tmp_path / "scores.csv")
    refused(run(*call), 2, "lies in")


@pytest.mark.parametrize("command", [*WITH_DATA, "export", "merge"])
def test_outputs_that_cannot_be(command, data, models, tmp_path):
    def call(folder):
        model = models["density"]
        if command in WITH_DATA:
            return WITH_DATA[command](models, data / "rows.csv", folder)
        return WITH_MODEL[command](model, model, None, folder)

    refused(run(*call(tmp_path / "nowhere")), 1, "there is no folder")
    name = call(tmp_path)[-1].name
    (tmp_path / name).mkdir()
    refused(run(*call(tmp_path)), 2, "is a folder, not a file")
    assert snapshot(tmp_path) == {}
    (tmp_path / name).rmdir()
    os.mkfifo(tmp_path / name)  # as for a device: nothing takes its place
    refused(run(*call(tmp_path)), 2, "is no regular file")
    assert (tmp_path / name).is_fifo()


@pytest.mark.parametrize(
    "command", ["score", "predict", "anomalies", "report", "export"]
)
def test_endings_tell_the_format(command, data, models, tmp_path):
    arguments = (
        models["classes"],
        *([] if command == "export" else [data / "new.csv"]),
    )
    result = run(command, *arguments, "-o", tmp_path / "out.docx")
    refused(result, 2, "out.docx must end in one of ")


def test_an_old_output_stays_when_the_work_fails(models, tmp_path):
    file, _ = text_among_numbers(tmp_path)
    for command in WITH_DATA:
        call = WITH_DATA[command](models, file, tmp_path)
        call[-1].write_text("old")
        refused(run(*call), 1)
        assert call[-1].read_text() == "old"
    assert not list(tmp_path.glob(".*"))
