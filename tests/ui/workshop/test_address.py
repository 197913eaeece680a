"""Where participants find the page."""

import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.ui.workshop.address import checked_address, participants_address, qr_code


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.ui.workshop.address.addresses_of_machine", lambda: ["192.168.1.5", "10.0.0.2"])


@pytest.mark.parametrize(
    ("public", "asked", "address"),
    [
        ("", "http://127.0.0.1:7860/", "http://192.168.1.5:7860/"),
        ("", "http://0.0.0.0:7860/", "http://192.168.1.5:7860/"),
        ("", "http://localhost:7860", "http://192.168.1.5:7860/"),
        ("", "http://[::1]:7860/", "http://192.168.1.5:7860/"),
        ("", "http://10.0.0.2:7860/", "http://10.0.0.2:7860/"),
        ("", "https://lab.example.org/lab/", "https://lab.example.org/lab/"),
        ("", "http://[2001:db8::1]:7860/", "http://[2001:db8::1]:7860/"),
        ("https://lab.example.org/", "http://127.0.0.1:7860/", "https://lab.example.org/"),
    ],
)
def test_participants_get_an_address_that_their_machines_reach(public: str, asked: str, address: str) -> None:
    assert participants_address(public, asked) == address


def test_a_machine_without_a_network_has_its_own_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.ui.workshop.address.addresses_of_machine", list)
    assert participants_address("", "http://127.0.0.1:7860/") == "http://127.0.0.1:7860/"


def test_a_public_address_ends_with_a_slash() -> None:
    assert checked_address("https://lab.example.org/lab") == "https://lab.example.org/lab/"
    assert checked_address("") == ""


@pytest.mark.parametrize("text", ["lab.example.org", "javascript:alert(1)", "http://x/<script>", "http://" + "x" * 200])
def test_a_public_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--public-url"):
        checked_address(text)


def test_a_code_is_an_image_of_its_own_and_differs_with_its_address() -> None:
    code = qr_code("http://192.168.1.5:7860/5")
    assert code.startswith("<svg")
    assert "href" not in code
    assert code != qr_code("http://192.168.1.5:7860/6")
