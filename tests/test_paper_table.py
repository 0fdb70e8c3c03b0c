"""The table of the paper's formulas names files and functions that exist."""

import re

from tests.pages import ROOT, rows

CORE = ROOT / "app" / "scheduling"


def test_the_formulas_are_where_the_table_says():
    table = rows(ROOT / "docs" / "algorithms.md", "The paper")
    assert len(table) > 10
    for formula, place in table:
        names = re.findall(r"`([\w./]+)`", place)
        files = [CORE / name for name in names if name.endswith(".py")]
        assert files, formula
        sources = [file.read_text() for file in files]
        for name in names:
            if not name.endswith(".py"):
                defined = rf"(def|class) {name.split('.')[-1]}\b"
                assert any(re.search(defined, source) for source in sources), name
