"""A real browser for tests of pages."""

import os
import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PHONE = {"width": 375, "height": 720}


def found_browser():
    """The path of a Chromium; without one, tests are left out, but not in CI."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None and os.environ.get("CI") == "true":
        pytest.fail(f"none of {', '.join(BROWSERS)} is installed")
    if path is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    return path


@contextmanager
def chromium():
    """A browser without a window."""
    path = found_browser()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()
