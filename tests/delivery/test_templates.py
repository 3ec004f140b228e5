"""The text of messages: placeholders, what a caller gave stays text, and what is refused."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from keystead.api.errors import InvalidRequest
from keystead.delivery.templates import Branding, bundle_email, checked_branding, code_email, code_sms

MARKUP = '"><script>alert(1)</script>&amp;'


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def parsed(page: str) -> _Tags:
    parser = _Tags()
    parser.feed(page)
    return parser


def test_a_code_is_in_both_texts() -> None:
    email = code_email(Branding(app_name="Wallets"), "4K7Q9X2AB", 300)
    assert email.subject == "Your code for Wallets"
    assert "4K7Q9X2AB" in email.text
    assert "4K7Q9X2AB" in email.html
    assert "5 minutes" in email.text


def test_a_link_carries_the_code() -> None:
    branding = checked_branding("Wallets", None, "https://app.example.com/login?code=%s")
    email = code_email(branding, "12 34", 60)
    assert "https://app.example.com/login?code=12%2034" in email.text
    assert parsed(email.html).links == ["https://app.example.com/login?code=12%2034"]


@pytest.mark.parametrize("email", [code_email, lambda b, c, s: bundle_email(b, c, s, purpose="log in to")])
def test_what_a_caller_gave_is_never_markup(email: object) -> None:
    branding = Branding(
        app_name=MARKUP, logo_url=f"https://example.com/{MARKUP}", link_template=f"https://example.com/{MARKUP}%s"
    )
    content = email(branding, MARKUP, 300)  # type: ignore[operator]
    plain = email(Branding(app_name="a", logo_url="https://a", link_template="https://a/%s"), "b", 300)  # type: ignore[operator]
    assert parsed(content.html).tags == parsed(plain.html).tags


@pytest.mark.parametrize(
    ("app_name", "logo_url", "link_template"),
    [
        pytest.param("", None, None, id="no name"),
        pytest.param("a\r\nBcc: other@example.com", None, None, id="a header in the name"),
        pytest.param("a\u2028b", None, None, id="a line separator"),
        pytest.param("a" * 256, None, None, id="a long name"),
        pytest.param("a", "http://example.com/logo.png", None, id="a logo without TLS"),
        pytest.param("a", "javascript:alert(1)", None, id="a logo that is a script"),
        pytest.param("a", None, "https://example.com/", id="no placeholder"),
        pytest.param("a", None, "https://example.com/%s/%s", id="two placeholders"),
        pytest.param("a", None, "javascript:alert('%s')", id="a link that is a script"),
        pytest.param("a", None, "%s", id="a placeholder alone"),
        pytest.param("a", None, "https://example.com/\n%s", id="a line break in a link"),
    ],
)
def test_refused(app_name: str, logo_url: str | None, link_template: str | None) -> None:
    with pytest.raises(InvalidRequest):
        checked_branding(app_name, logo_url, link_template)


def test_an_app_may_be_opened_by_a_scheme_of_its_own() -> None:
    checked_branding("a", None, "wallets://login/%s")


def test_sms() -> None:
    assert code_sms("Wallets", "123456", None) == "Your code for Wallets is: 123456"
    assert code_sms("Wallets", "123456", "{{.OtpCode}} is it. {{.OtpCode}}") == "123456 is it. 123456"
    for template in ("no placeholder", "{{.OtpCode}}" + "a" * 480):
        with pytest.raises(InvalidRequest):
            code_sms("Wallets", "123456", template)
