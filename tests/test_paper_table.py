"""The table of the paper's formulas names files and functions that exist."""

import re

from tests.pages import ROOT, named, rows


def test_the_formulas_are_where_the_table_says():
    table = rows(ROOT / "docs" / "algorithms.md", "Where the paper's equations are")
    assert len(table) > 15
    for formula, _, place in table:
        if place == "the same":
            continue
        files = [name for name in named(place) if name.endswith(".py")]
        functions = [name for name in named(place) if not name.endswith(".py")]
        assert files, formula
        assert functions, formula
        sources = [(ROOT / file).read_text() for file in files]
        for name in functions:
            defined = rf"^\s*(def|class) {name}\b|^{name} = "
            assert any(re.search(defined, source, re.M) for source in sources), name
