"""``python -m app.export_openapi``: write the OpenAPI document to ``openapi/openapi.json``."""

import json
from pathlib import Path

from app.main import app

PATH = Path("openapi/openapi.json")


def render() -> str:
    """Return the document as it is committed."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(render(), encoding="utf-8")
    print(f"wrote {PATH}")
