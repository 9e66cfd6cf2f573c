"""Options of the program for parameters of the library.

The library's messages name parameters as Python takes them, ``n_components`` or
``missing='drop'``. Users of the program have options, ``--components`` and
``--missing drop``: this file alone knows which is which.
"""

import re

# Options that are not named like the parameters that they set.
_OTHER_NAMES = {
    "n_components": "--components",
    "feature_map": "--map",
    "random_state": "--seed",
}
# Parameters that messages name with a value, as in ``dtype='float32'``.
_KEYWORDS = (
    *("bounds", "categories", "checkpoint", "columns", "dtype", "feature_map"),
    *("memory_limit", "missing", "scale"),
    *("delimiter", "decimal", "thousands", "quote", "encoding", "missing_marks"),
    *("date_format", "sheet"),
)
_SWITCHES = {"header=False": "--no-header", "keep_all=True keeps": "--keep-all keeps"}
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)"
_SETTING = re.compile(rf"\b({'|'.join(_KEYWORDS)})=({_VALUE})")
# What a shell would take for something else.
_NEEDS_QUOTES = re.compile(r"[ ,;|?*\\#&<>$]")
_BARE = re.compile(rf"\b({'|'.join(_OTHER_NAMES)})\b(?!=)")


def option_of(parameter: str) -> str:
    """The option that sets a parameter.

    Examples
    --------
    >>> from rhokit.cli.option_names import option_of
    >>> option_of("n_components"), option_of("memory_limit")
    ('--components', '--memory-limit')
    """
    return _OTHER_NAMES.get(parameter, f"--{parameter.replace('_', '-')}")


def with_options(text: str) -> str:
    """A message that names options where the library names parameters.

    Examples
    --------
    >>> from rhokit.cli.option_names import with_options
    >>> with_options("lower n_components, or set dtype='float32'")
    'lower --components, or set --dtype float32'
    >>> with_options("memory_limit='1 MB' is little; see bounds=(low, high)")
    "--memory-limit '1 MB' is little; see --bounds low,high"
    """
    for switch, option in _SWITCHES.items():
        text = text.replace(switch, option)
    text = _SETTING.sub(lambda found: f"{option_of(found[1])} {_value(found[2])}", text)
    return _BARE.sub(lambda found: option_of(found[0]), text)


def _value(written: str) -> str:
    """A value of Python as the command line takes it; one with blanks keeps quotes."""
    if written[:1] in ("[", "("):
        parts = [part.strip().strip("'\"") for part in written[1:-1].split(",")]
        if parts == ["..."]:
            return "A,B"
        return ",".join(parts) if len(parts) > 1 else _value(repr(parts[0]))
    bare = written.strip("'\"")
    return written if _NEEDS_QUOTES.search(bare) or not bare else bare
