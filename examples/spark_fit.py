"""Fit one model on the workers of Spark, here two threads of this machine.

    python examples/spark_fit.py --output density.rhokit

The driver prepares a model on a small sample and sends it to everyone as bytes; each
partition learns its rows into a copy, and what comes back is merged. Any other engine
can do the same: all that it has to carry is bytes.
"""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import rhokit
from rhokit.parallel import code_version, merge


def make_table(n_rows: int) -> pa.Table:
    """Two clouds of points, one after the other."""
    rows = np.random.default_rng(0).normal(size=(n_rows, 3))
    rows[n_rows // 2 :] += 4
    return pa.table(dict(zip("xyz", rows.T, strict=True)))


def to_rows(table: pa.Table | pa.RecordBatch) -> np.ndarray:
    """The columns side by side, shape (n, d)."""
    return np.column_stack(table.columns)


def fit_spark(plan: rhokit.DMKDE, frame: DataFrame) -> rhokit.DMKDE:
    """A model of all rows of a Spark frame, with the plan's scaling, γ and map."""
    sent = frame.sparkSession.sparkContext.broadcast(rhokit.dumps(plan))

    def learn(batches):
        model = rhokit.loads(sent.value)
        for batch in batches:
            if batch.num_rows:
                model.partial_fit(to_rows(batch))
        result = {"model": [rhokit.dumps(model)], "version": [code_version()]}
        yield pa.RecordBatch.from_pydict(result)

    parts = frame.mapInArrow(learn, "model binary, version string").collect()
    check_versions(part.version for part in parts)
    # With the plan itself among them, each has its fingerprint or is refused.
    return merge([plan.blank(), *(rhokit.loads(bytes(part.model)) for part in parts)])


def check_versions(versions: Iterable[str]) -> None:
    """Refuse what another version has learned: its states may mean something else."""
    own = code_version()
    others = sorted(set(versions) - {own})
    if others:
        raise ValueError(
            f"workers have rhokit {', '.join(others)}, the driver {own}: install the "
            "same version everywhere"
        )


def start_spark() -> SparkSession:
    """Spark on two threads of this machine, which nobody else can reach."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    options = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    return SparkSession.builder.master("local[2]").config(map=options).getOrCreate()


def main() -> None:
    """Fit rows that Spark has, and count them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--output", type=Path, help="file for the model")
    arguments = parser.parse_args()
    with start_spark() as spark:
        frame = spark.createDataFrame(make_table(arguments.rows)).repartition(5)
        sample = to_rows(frame.sample(fraction=0.1, seed=0).toArrow())
        plan = rhokit.DMKDE(n_components=128, random_state=0).prepare(sample)
        model = fit_spark(plan, frame)
    print(f"rows {arguments.rows}  learned {model.state_.weight[0]:.0f}")
    if arguments.output is not None:
        rhokit.save(model, arguments.output)


if __name__ == "__main__":
    main()
