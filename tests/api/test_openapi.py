"""The committed OpenAPI file is what the service says of itself."""

import json
from pathlib import Path

from app.export_openapi import render

COMMITTED = Path(__file__).parents[2] / "openapi" / "openapi.json"


def test_committed_file_is_up_to_date():
    assert COMMITTED.read_text(encoding="utf-8") == render(), "run `make openapi`"


def test_served_document_is_the_committed_one(client):
    assert client.get("/openapi.json").json() == json.loads(COMMITTED.read_text())


def test_every_reference_is_defined():
    document = json.loads(COMMITTED.read_text())
    schemas = document["components"]["schemas"]

    def references(value):
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for item in value.values():
                yield from references(item)
        elif isinstance(value, list):
            for item in value:
                yield from references(item)

    for reference in references(document):
        assert reference.removeprefix("#/components/schemas/") in schemas


def test_every_error_of_the_contract_is_documented():
    post = json.loads(COMMITTED.read_text())["paths"]["/schedule"]["post"]
    assert {"200", "400", "401", "413", "415", "422", "503", "504"} <= set(post["responses"])
    assert set(post["requestBody"]["content"]) == {"application/json", "application/msgpack"}
