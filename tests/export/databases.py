"""Databases that tests put rows into, and ask queries of."""

import csv
import io
import math
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def _is_text(column):
    return any(isinstance(each, str) for each in column)


def _plain(value):
    """A value as databases know it, None for a gap."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _rows(frame):
    columns = [[_plain(each) for each in frame[name].tolist()] for name in frame]
    return list(zip(*columns, strict=True)), columns


def _type_of(column):
    there = [each for each in column if each is not None]
    if _is_text(there):
        return "TEXT"
    if all(isinstance(each, bool) for each in there):
        return "BOOLEAN"
    if all(isinstance(each, int) for each in there):
        return "BIGINT"
    return "DOUBLE PRECISION"


def _head(frame, columns):
    names = [str(name).replace('"', '""') for name in frame]
    pairs = zip(names, columns, strict=True)
    return ", ".join(f'"{name}" {_type_of(column)}' for name, column in pairs)


class DuckDB(nullcontext):
    """DuckDB in memory."""

    name = "duckdb"

    def __enter__(self):
        return self

    def ask(self, frame, query):
        """What a query of the table ``data`` gives, as a frame."""
        import duckdb

        rows, columns = _rows(frame)
        with duckdb.connect() as base:
            base.execute(f"CREATE TABLE data ({_head(frame, columns)})")
            marks = ", ".join("?" * len(columns))
            base.executemany(f"INSERT INTO data VALUES ({marks})", rows)
            found = base.execute(query)
            names = [each[0] for each in found.description]
            return pd.DataFrame(found.fetchall(), columns=names)


class SQLite(nullcontext):
    """SQLite in memory."""

    name = "sqlite"

    def __enter__(self):
        return self

    def ask(self, frame, query):
        """What a query of the table ``data`` gives, as a frame."""
        rows, columns = _rows(frame)
        with sqlite3.connect(":memory:") as base:
            base.execute(f"CREATE TABLE data ({_head(frame, columns)})")
            marks = ", ".join("?" * len(columns))
            base.executemany(f"INSERT INTO data VALUES ({marks})", rows)
            found = base.execute(query)
            names = [each[0] for each in found.description]
            return pd.DataFrame(found.fetchall(), columns=names)


class PostgreSQL:
    """A server of one's own, in a temporary folder, which talks to no network."""

    name = "postgresql"

    def __enter__(self):
        programs = _programs()
        if programs is None:
            pytest.skip("no PostgreSQL: install Debian's package postgresql")
        self._user, environment = _unprivileged()
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._as = {"user": self._user, "env": environment, "cwd": self.folder}
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        data, log = self.folder / "data", self.folder / "log"
        make = [programs / "initdb", "-D", data, "-N", "-A", "trust", "-U", "rho"]
        make += ["-E", "UTF8", "--no-locale"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL, **self._as)
        options = ["-c", "listen_addresses=", "-c", "fsync=off"]
        options += ["-c", f"unix_socket_directories={self.folder}"]
        with log.open("w") as stream:
            self._server = subprocess.Popen(
                [programs / "postgres", "-D", data, *options],
                stdout=stream,
                stderr=stream,
                **self._as,
            )
        self._psql = [programs / "psql", "-h", str(self.folder), "-U", "rho"]
        self._psql += ["-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "--csv"]
        for _ in range(600):
            if not self._run("SELECT 1").returncode:
                return self
            time.sleep(0.1)
        self.__exit__()
        raise AssertionError(f"no server: {self._server.returncode}")

    def __exit__(self, *error):
        self._server.terminate()
        self._server.wait(60)
        shutil.rmtree(self.folder)

    def _run(self, text):
        return subprocess.run(
            [*self._psql, "-f", "-"],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            **self._as,
        )

    def ask(self, frame, query):
        """What a query of the table ``data`` gives, as a frame."""
        rows, columns = _rows(frame)
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows(
            [["" if each is None else _word(each) for each in row] for row in rows]
        )
        text = f"CREATE TEMP TABLE data ({_head(frame, columns)});\n"
        text += f"COPY data FROM STDIN (FORMAT csv);\n{lines.getvalue()}\\.\n{query};\n"
        done = self._run(text)
        assert done.returncode == 0, done.stderr[:2000]
        return pd.read_csv(io.StringIO(done.stdout), keep_default_na=False).replace(
            {"": None}
        )


def _word(value):
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value) if isinstance(value, float) else value


def _programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    there = shutil.which("initdb")
    return Path(there).parent if there else None


def _unprivileged():
    """Whom to run a server as: it refuses the superuser."""
    if os.getuid():
        return None, None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name, {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
        except KeyError:
            continue
    pytest.skip("PostgreSQL refuses to run as root, and there is no other user")
