"""Operations in which a process is killed."""

import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import rhokit
from rhokit.io import dumps
from rhokit.testing.cases import take
from rhokit.testing.comparisons import assert_same_answers, assert_same_state
from tests.soak.operations import operation
from tests.soak.victims import fit_from_files, moment, run_and_kill, save_in_turn


@operation(0.3)
def kill_a_save(world, rng):
    """A killed process leaves one of the models that it saved, whole."""
    path = world.folder / "killed.rhokit"
    other = world.fitted(world.batch(30, rng))
    files = [dumps(world.model), dumps(other)]
    path.write_bytes(files[0])
    run_and_kill(save_in_turn, path, files, watched=path, **moment(rng))
    assert path.read_bytes() in files
    rhokit.load(path)


@operation(0.3)
def kill_a_file_fit(world, rng):
    """A fit from files that is killed and resumed gives the bits of one that is not."""
    folder, path = world.folder / "rows", world.folder / "checkpoint.rhokit"
    roles = write_files(world, folder, rng)
    options = roles | {"batch_rows": int(rng.integers(8, 40)), "checkpoint_every": 0.0}
    start = world.empty.blank()
    resumed = options | {"checkpoint": path}
    for _ in range(int(rng.integers(1, 4))):
        work = fit_from_files, dumps(start), folder, resumed
        run_and_kill(*work, watched=path, **moment(rng))
    actual = rhokit.fit_files(world.empty.blank(), folder, **resumed)
    whole = rhokit.fit_files(world.empty.blank(), folder, **options)
    path.unlink()
    shutil.rmtree(folder)
    assert actual.fingerprint() == whole.fingerprint()
    assert_same_state(actual.state_, whole.state_, 0)
    expected = world.fitted(world.truth)
    assert_same_state(actual.state_, expected.state_, world.case.state_tolerance)
    queries = world.queries(rng)
    wanted = world.asked(expected, queries)
    found = world.asked(actual, as_frame(queries))
    assert_same_answers(found, wanted, world.case.tolerance)


def as_frame(rows):
    """Rows as a frame with names."""
    if hasattr(rows, "iloc"):
        return rows
    return pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])


def write_files(world, folder, rng):
    """Write the rows that count to some files; the roles of their columns."""
    frame = as_frame(world.truth.rows).reset_index(drop=True)
    roles = {"weight": "weight"}
    target = world.truth.target
    if target is not None:
        columns = np.atleast_2d(np.asarray(target).T)
        names = [f"y{i}" for i in range(len(columns))]
        frame = frame.assign(**dict(zip(names, columns, strict=True)))
        roles["target"] = names if len(names) > 1 else names[0]
    frame = frame.assign(weight=world.truth.weights)
    folder.mkdir()
    cuts = np.sort(rng.integers(0, len(frame), 2))
    for i, which in enumerate(np.split(np.arange(len(frame)), cuts)):
        table = pa.Table.from_pandas(take(frame, which), preserve_index=False)
        pq.write_table(table, folder / f"{i}.parquet", row_group_size=50)
    return roles
