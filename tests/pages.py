"""The documentation: its pages, their fenced blocks, links and names."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "clients" / "README.md"]
"""Pages whose every example is checked."""

LINKED = [*PAGES, ROOT / "deploy" / "README.md", ROOT / "CHANGELOG.md"]
"""Pages whose links and names are checked."""

URL = "http://127.0.0.1:8000"
"""Where every page says the service is."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Parameters
    ----------
    skipped
        Why it is only checked and not run, from a comment ``<!-- not run: … -->`` above it.
    """

    page: Path
    line: int
    language: str
    text: str
    skipped: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> list[str]:
        """Return the commands of a shell block, one for each logical line."""
        joined = self.text.replace("\\\n", " ")
        # A quoted argument may span lines.
        return re.findall(r"(?:'[^']*'|[^\n'])+", joined)


def blocks(page: Path) -> list[Block]:
    """Return every fenced block of a page."""
    text = page.read_text(encoding="utf-8")
    fenced = r"^(?:<!-- not run: ([^\n]+) -->\n)?```(\w*)\n(.*?)^```$"
    found = [
        Block(page, text.count("\n", 0, match.start(3)), match[2], match[3], match[1] or "")
        for match in re.finditer(fenced, text, re.MULTILINE | re.DOTALL)
    ]
    assert text.count("\n```") == 2 * len(found), f"{page} has a fence that is not closed"
    return found


BLOCKS = [block for page in PAGES for block in blocks(page)]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def rows(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of the table rows below a heading, without the table's own heading."""
    section = page.read_text(encoding="utf-8").partition(f"# {heading}\n")[2]
    section = re.split(r"^#+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    assert section, f"{page} has no heading {heading}"
    table = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]
    rules = [number for number, row in enumerate(cells) if set("".join(row)) == {"-"}]
    heads = {number - 1 for number in rules} | set(rules)
    return [row for number, row in enumerate(cells) if number not in heads]


def named(cell: str) -> list[str]:
    """Return the names in backticks."""
    return re.findall(r"`([^`]+)`", cell)
