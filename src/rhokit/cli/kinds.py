"""What a target is, told from its values."""

from dataclasses import dataclass, field

from rhokit.cli.errors import UserError

# More different whole numbers than this are values, not classes; and so are those that
# hardly ever come twice.
_MOST_CLASSES = 20
_ROWS_PER_CLASS = 5


@dataclass
class _Looked:
    """What has been seen of a column of numbers."""

    values: set = field(default_factory=set)
    n_rows: int = 0

    def add(self, column):
        """Take up a batch; whether that settles that these are values."""
        import pyarrow.compute as pc

        distinct = pc.unique(column.drop_null()).to_pylist()
        self.n_rows += len(column)
        self.values.update(distinct)
        whole = all(float(value).is_integer() for value in distinct)
        return not whole or len(self.values) > _MOST_CLASSES


def guess_kind(rows, target):
    """The kind of model that a target asks for, and why.

    Parameters
    ----------
    rows : Rows
    target : list of str

    Returns
    -------
    kind : {"density", "classes", "values"}
    reason : str
    """

    from rhokit.streams.arrow import is_category, is_number

    if not target:
        return "density", "there is no target"
    rows.require(target)
    if len(target) > 1:
        return "values", "there are several targets"
    (name,) = target
    kind = rows.schema.field(name).type
    if is_category(kind) or not is_number(kind):
        return "classes", f"column {name!r} holds {_word(kind)}"
    return _guess_from_values(rows, name)


def _guess_from_values(rows, name):
    import pyarrow as pa

    looked = _Looked()
    for batch in rows.batches([name], {name: pa.float64()}):
        if looked.add(batch.table.column(name)):
            return "values", f"column {name!r} holds many different numbers"
    if not looked.values:
        raise UserError(f"column {name!r} holds no values")
    if looked.n_rows < _ROWS_PER_CLASS * len(looked.values):
        return "values", f"hardly a number of column {name!r} comes twice"
    count = len(looked.values)
    return "classes", f"column {name!r} holds {count} different whole numbers"


def _word(kind):
    import pyarrow as pa

    return "truth values" if pa.types.is_boolean(kind) else "text"
