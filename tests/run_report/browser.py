"""A real browser without a window."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FOUND = next((path for name in NAMES if (path := shutil.which(name))), None)
REASON = f"no browser: none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)"

OPTIONS = (
    "--headless",
    "--no-sandbox",  # it refuses to start as root otherwise; the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--enable-logging=stderr",
    "--virtual-time-budget=3000",
)


@dataclass(frozen=True)
class View:
    """The document as scripts have left it, and what the console says."""

    dom: str
    console: list[str]

    @property
    def cards(self) -> list[str]:
        return re.findall(r"<article .*?</article>", self.dom, flags=re.DOTALL)

    @property
    def images(self) -> list[str]:
        """The names of the images on the cards."""
        return [re.findall(r"<h3>(.*?) \(", card)[0] for card in self.cards]

    @property
    def found(self) -> str:
        (text,) = re.findall(r'<p id="found"[^>]*>(.*?)</p>', self.dom)
        return text


def look(page: Path, profile: Path, fragment: str = "", *more: str) -> View:
    """Open a page, let its scripts run, and look at it."""
    assert FOUND is not None
    url = page.resolve().as_uri() + (f"#{fragment}" if fragment else "")
    command = [FOUND, *OPTIONS, f"--user-data-dir={profile}", *more, "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return View(done.stdout, re.findall(r".*CONSOLE.*", done.stderr))


def drive(page: Path, profile: Path, script: str) -> View:
    """Open a page and let a script of the test's own use it; `said` is what it hands to `say`."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", text, count=1)
    helper = "const say = (x) => document.body.dataset.said = JSON.stringify(x);"
    driven = page.with_name(f"driven-{page.name}")
    body = f"<script>{{{helper}{script}}}</script></body>"
    driven.write_text(text.replace("</body>", body), encoding="utf-8")
    return look(driven, profile)
