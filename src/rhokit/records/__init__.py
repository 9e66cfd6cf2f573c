"""A small language of fields: what a model file holds of a value, and its checks.

Maps, representations and read-outs say in it what a file holds of them, next to their
own classes; :mod:`rhokit.io` writes and reads it. Nothing in a file is imported or run,
and nothing is built before the whole file has been checked.
"""

from rhokit.records.column_field import ColumnsField
from rhokit.records.composite import (
    Maybe,
    OneOf,
    Record,
    read_fields,
    write_fields,
)
from rhokit.records.field import (
    OUTCOME_COST,
    Build,
    Field,
    Fields,
    Reader,
    Tensors,
    Values,
    Writer,
    built,
    members,
    refusal,
    require,
)
from rhokit.records.scalars import (
    POSITIVE,
    CategoryField,
    Flag,
    LabelField,
    Number,
    Word,
    hashable_key,
)
from rhokit.records.tensors import (
    FLOATS,
    ArrayField,
    CoefficientField,
    FactorField,
    RowsField,
    TriangleField,
)

__all__ = [
    "FLOATS",
    "OUTCOME_COST",
    "POSITIVE",
    "ArrayField",
    "Build",
    "CategoryField",
    "CoefficientField",
    "ColumnsField",
    "FactorField",
    "Field",
    "Fields",
    "Flag",
    "LabelField",
    "Maybe",
    "Number",
    "OneOf",
    "Reader",
    "Record",
    "RowsField",
    "Tensors",
    "TriangleField",
    "Values",
    "Word",
    "Writer",
    "built",
    "hashable_key",
    "members",
    "read_fields",
    "refusal",
    "require",
    "write_fields",
]
