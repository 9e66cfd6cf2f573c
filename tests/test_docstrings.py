"""Every public name says what it is, and names its parameters as they are."""

import inspect

import pytest
from numpydoc.docscrape import NumpyDocString

import rhokit


def public_names():
    """Pairs of a dotted name and what it stands for, each thing once."""
    modules = [each for each in map(_of_rhokit, rhokit.__all__) if _is_module(each)]
    seen = set()
    for module in (*modules, rhokit):
        for name in getattr(module, "__all__", ()):  # errors are public in rhokit
            found = getattr(module, name)
            if not _is_module(found) and id(found) not in seen:
                seen.add(id(found))
                yield f"{module.__name__}.{name}", found


def _of_rhokit(name):
    return getattr(rhokit, name)


def _is_module(found):
    return inspect.ismodule(found)


def members(cls):
    """Names, functions and docstrings of what a class adds to scikit-learn's."""
    for name in dir(cls):
        plain = inspect.getattr_static(cls, name)
        function = getattr(plain, "__func__", getattr(plain, "fget", plain))
        is_ours = str(getattr(function, "__module__", "")).startswith("rhokit")
        if not name.startswith("_") and is_ours and inspect.isfunction(function):
            yield name, function, inspect.getdoc(getattr(cls, name))


def documented(doc):
    """Names in the section on parameters."""
    found = NumpyDocString(inspect.cleandoc(doc))
    entries = (*found["Parameters"], *found["Other Parameters"])
    return {
        name.strip().lstrip("*") for each in entries for name in each.name.split(",")
    }


def parameters(function):
    # What is a method by assignment calls its own object the estimator.
    names = inspect.signature(function).parameters
    return set(names) - {"self", "cls", "estimator"}


def problems(function, doc):
    if not doc:
        return "has no docstring"
    told = documented(doc) - {"estimator"}
    if told and told != parameters(function):
        return f"documents {sorted(told)}, takes {sorted(parameters(function))}"
    return None


PUBLIC = [
    pytest.param(found, id=name)
    for name, found in public_names()
    if inspect.isclass(found) or inspect.isfunction(found)
]


@pytest.mark.parametrize("found", PUBLIC)
def test_says_what_it_is_and_what_it_takes(found):
    said = {"": problems(found, found.__doc__)}
    if inspect.isclass(found):
        said |= {name: problems(*rest) for name, *rest in members(found)}
    assert {name: each for name, each in said.items() if each} == {}
