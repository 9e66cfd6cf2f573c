"""Tables as the commands read them: batch by batch, each knowing where it stands."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rhokit.cli.errors import UserError

_BATCH_ROWS = 65_536
# What pyarrow says of a value that does not fit; row 1 is the line of the names.
_BAD_VALUE = re.compile(
    r"In CSV column #(?P<index>\d+): Row #(?P<line>\d+): CSV conversion error to "
    r"\S+ invalid value '(?P<value>.*)'"
)
_BAD_VALUE_OF_LIBRARY = re.compile(
    r"(?P<file>.+): column '(?P<name>.+)' (?:must be numbers, but holds|holds numbers, "
    r"but) '(?P<value>.*)' in row (?P<row>\d+)"
)
_OTHER_FORMAT = re.compile(
    r"Is this a '(\w+)' file\?: (?:Could not open .*? source '.*?': )?(.*)", re.S
)
_FORMAT_NAMES = {"csv": "CSV", "parquet": "Parquet", "ipc": "Arrow"}
_BAD_ROW = re.compile(r"CSV parse error: (?:Row #(\d+): )?(Expected .*? got \d+)")


@dataclass(frozen=True)
class Batch:
    """Rows of one file.

    Parameters
    ----------
    table : pyarrow.Table
    file : str
        What people call the file.
    first_row : int
        Number of the first row in its file; the first of all is 1.
    """

    table: Any
    file: str
    first_row: int


class Rows:
    """The rows of a source.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    names : list of str
        All columns.
    n_rows : int or None
        Where the files tell without being read.
    """

    def __init__(self, source):
        from rhokit.streams.files import open_dataset

        self._source = source
        try:
            self._dataset = open_dataset(source.argument)
        except (ValueError, OSError) as error:
            raise UserError(explained(source.name, error, [])) from error
        self.schema = self._dataset.schema
        self.names = list(self.schema.names)
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise UserError(f"{source.name}: column {twice[0]!r} is there twice")

    @property
    def is_text(self):
        """Whether values are written out, and their types are guesses."""
        from rhokit.streams.files import is_text

        return is_text(self._dataset)

    @cached_property
    def n_rows(self):
        """Rows of all files, None where only reading them would tell."""
        if self.is_text:
            return None
        return self._dataset.count_rows()

    def require(self, columns):
        """Refuse a table that lacks one of these columns."""
        missing = [name for name in columns if name not in self.names]
        if missing:
            from rhokit.cli.console import short_list

            raise UserError(
                f"{self._source.name}: there is no column {missing[0]!r}, only "
                f"{short_list(self.names)}"
            )

    def batches(self, columns, types=None):
        """Batches of some columns, in the order of the files.

        Parameters
        ----------
        columns : list of str
        types : dict, optional
            From names to pyarrow types that values of text files are read as.
        """
        import pyarrow as pa

        self.require(columns)
        schema = self._read_schema(types or {})
        fragments = list(self._dataset.get_fragments())
        for fragment in sorted(fragments, key=lambda each: each.path):
            file, row = self._source.name_of(fragment.path), 1
            try:
                for record in _records(fragment, schema, list(columns)):
                    table = pa.Table.from_batches([record])
                    yield Batch(table, file, row)
                    row += record.num_rows
            except (pa.ArrowException, OSError) as error:
                raise UserError(explained(file, error, self.names)) from error

    def _read_schema(self, types):
        import pyarrow as pa

        if not self.is_text:
            return self.schema
        fields = [
            pa.field(each.name, types.get(each.name, each.type)) for each in self.schema
        ]
        return pa.schema(fields)


def _records(fragment, schema, columns):
    """Record batches of a file, never many of them at once."""
    import pyarrow.dataset as pa_dataset
    import pyarrow.parquet as pq

    is_parquet = isinstance(fragment, pa_dataset.ParquetFileFragment)
    if is_parquet and set(columns) <= set(fragment.physical_schema.names):
        # The data set's own reader holds whole row groups; this one streams.
        with fragment.open() as file:
            reader = pq.ParquetFile(file, pre_buffer=False)
            for record in reader.iter_batches(_BATCH_ROWS, columns=columns):
                yield record.select(columns)
        return
    records = fragment.to_batches(
        schema=schema,
        columns=columns,
        batch_size=_BATCH_ROWS,
        batch_readahead=2,
        fragment_readahead=1,
    )
    for record in records:
        if record.num_rows:
            yield record


def explained(file, error, names=()):
    """An error of reading a file, with row and column where it tells them."""
    text = str(error)
    if found := _BAD_VALUE.search(text):
        index, row = int(found["index"]), int(found["line"]) - 1
        name = names[index] if index < len(names) else index
        return _not_a_number(file, row, name, found["value"])
    if found := _BAD_VALUE_OF_LIBRARY.search(text):
        row = int(found["row"]) + 1  # counted from 0 there
        return _not_a_number(found["file"], row, found["name"], found["value"])
    if found := _BAD_ROW.search(text):
        place = f"row {int(found[1]) - 1:,}: " if found[1] else ""
        return f"{file}: {place}{found[2].lower()}"
    if found := _OTHER_FORMAT.search(text):
        kind = _FORMAT_NAMES.get(found[1], found[1])
        return f"{file}: no readable {kind} file: {found[2]}"
    return text if text.startswith(f"{file}:") else f"{file}: {text}"


def _not_a_number(file, row, name, value):
    return f"{file}: row {row:,}: column {name!r} must be numbers, got {value!r}"
