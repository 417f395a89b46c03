"""The browser of tests."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@contextmanager
def opened(skip_unless_required: Callable[[str, str], None]) -> Iterator[Browser]:
    """Open a browser, or skip the test without one. While it is open, this thread can run no other event loop."""
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=installed, args=FLAGS)
        except Error as error:
            skip_unless_required("REQUIRE_BROWSER", f"no browser: {error.message.splitlines()[0]}")
        yield browser
        browser.close()
