import pytest
from pydantic import ValidationError

from app.settings import Settings


def test_environment(monkeypatch):
    monkeypatch.setenv("AIRSCHED_API_KEYS", "one, two,,")
    monkeypatch.setenv("AIRSCHED_MAX_DEVICES", "17")
    settings = Settings()
    assert [key.get_secret_value() for key in settings.api_keys] == ["one", "two"]
    assert settings.max_devices == 17
    assert "one" not in repr(settings)


def test_open_by_default(monkeypatch):
    monkeypatch.delenv("AIRSCHED_API_KEYS", raising=False)
    assert Settings().api_keys == ()


def test_a_wrong_value_is_named(monkeypatch):
    monkeypatch.setenv("AIRSCHED_QUEUE_LENGTH", "many")
    with pytest.raises(ValidationError, match="queue_length"):
        Settings()
