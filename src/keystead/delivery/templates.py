"""The text of messages: one-time codes by e-mail and SMS, credential bundles and invitations by e-mail.

Here: the default texts, and the documented placeholders `%s` and `{{.OtpCode}}`. Pure. Values from a caller are
always text: they are escaped in HTML, and line breaks in a subject or an address are refused. Not here: sending.
"""

from __future__ import annotations

import html
import re
from urllib.parse import quote, urlsplit

import msgspec

from keystead.api.errors import InvalidRequest
from keystead.delivery.bounds import (
    SMS_TEMPLATE_CHARACTERS_MAX,
    TEMPLATE_TEXT_CHARACTERS_MAX,
    TEMPLATE_URL_CHARACTERS_MAX,
)

CODE_PLACEHOLDER = "{{.OtpCode}}"
LINK_PLACEHOLDER = "%s"

_CONTROLS = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_LOGO, _LINK = "parameters.emailCustomization.logoUrl", "parameters.emailCustomization.magicLinkTemplate"


class EmailContent(msgspec.Struct, frozen=True, kw_only=True):
    subject: str
    text: str
    html: str


class Branding(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may choose. `logo_url`: an https address. `link_template`: an address with one `%s`."""

    app_name: str
    logo_url: str | None = None
    link_template: str | None = None


def checked_branding(app_name: str, logo_url: str | None, link_template: str | None) -> Branding:
    """Check a caller's choices. Raises InvalidRequest for text that a message cannot hold."""
    _check_one_line(app_name, "appName")
    if not app_name.strip():
        raise InvalidRequest("invalid app name: field `appName`: expected text")
    if logo_url is not None:
        _check_one_line(logo_url, _LOGO, TEMPLATE_URL_CHARACTERS_MAX)
        if urlsplit(logo_url).scheme != "https":
            raise InvalidRequest(
                f"invalid logo url: field `{_LOGO}`: expected an address that begins with https://"
            )
    if link_template is not None:
        _check_one_line(link_template, _LINK, TEMPLATE_URL_CHARACTERS_MAX)
        # Custom schemes are allowed, because a link may open an app on a phone.
        scheme = urlsplit(link_template).scheme
        if link_template.count(LINK_PLACEHOLDER) != 1 or scheme in ("", "javascript", "data", "file"):
            raise InvalidRequest(
                f"invalid magic link template: field `{_LINK}`: expected an address with one %s in it, "
                "for example https://app.example.com/login?bundle=%s"
            )
    return Branding(app_name=app_name, logo_url=logo_url, link_template=link_template)


def code_email(branding: Branding, code: str, lasts_s: int) -> EmailContent:
    """The e-mail with a one-time code. With a link template, it also has a link with the code."""
    link = _link(branding, code)
    lines = [f"Your code for {branding.app_name} is: {code}", "", f"It is valid for {_minutes(lasts_s)}."]
    if link is not None:
        lines += ["", f"Or open this link: {link}"]
    lines += ["", "If you did not ask for a code, ignore this message and tell nobody the code."]
    code_html = f'<p style="font-size:1.6em;letter-spacing:.12em"><b>{html.escape(code)}</b></p>'
    return EmailContent(
        subject=f"Your code for {branding.app_name}",
        text="\n".join(lines) + "\n",
        html=_page(
            branding,
            [
                f"<p>Your code for {html.escape(branding.app_name)}:</p>",
                code_html,
                _anchor(link, "Continue"),
                f"<p>It is valid for {_minutes(lasts_s)}. If you did not ask for a code, ignore this message and "
                "tell nobody the code.</p>",
            ],
        ),
    )


def bundle_email(branding: Branding, bundle: str, lasts_s: int, *, purpose: str) -> EmailContent:
    """The e-mail with a credential bundle for `purpose`, such as "log in to" or "recover your account at"."""
    link = _link(branding, bundle)
    shown = link if link is not None else bundle
    what = "Open this link" if link is not None else "Copy this text into the application"
    lead = f"{what} to {purpose} {branding.app_name}:"
    notice = f"It is valid for {_minutes(lasts_s)}. If you did not ask for it, ignore this message."
    body = _anchor(link, "Continue") or f"<p><code>{html.escape(bundle)}</code></p>"
    return EmailContent(
        subject=f"{purpose[:1].upper()}{purpose[1:]} {branding.app_name}",
        text=f"{lead}\n\n{shown}\n\n{notice}\n",
        html=_page(branding, [f"<p>{html.escape(lead)}</p>", body, f"<p>{notice}</p>"]),
    )


def invitation_email(branding: Branding, link: str, lasts_s: int, *, sender: str) -> EmailContent:
    """The e-mail with the link of an invitation. `sender`: the name of who invites, or ""."""
    who = f"{sender} invites you" if sender else "You are invited"
    lead = f"{who} to {branding.app_name}. Open this link to create a passkey, with which you log in from then on:"
    notice = (
        f"The link works once, and is valid for {_days(lasts_s)}. Give it to nobody. If you do not know what this "
        "is about, ignore this message."
    )
    return EmailContent(
        subject=f"Your invitation to {branding.app_name}",
        text=f"{lead}\n\n{link}\n\n{notice}\n",
        html=_page(branding, [f"<p>{html.escape(lead)}</p>", _anchor(link, "Accept"), f"<p>{notice}</p>"]),
    )


def code_sms(app_name: str, code: str, template: str | None) -> str:
    """The SMS with a one-time code. `template` has the placeholder `{{.OtpCode}}`. Raises InvalidRequest."""
    if template is None:
        return f"Your code for {app_name} is: {code}"
    if CODE_PLACEHOLDER not in template or len(template) > SMS_TEMPLATE_CHARACTERS_MAX:
        raise InvalidRequest(
            f"invalid sms template: field `parameters.smsCustomization.template`: expected at most "
            f"{SMS_TEMPLATE_CHARACTERS_MAX} "
            f"characters, with {CODE_PLACEHOLDER} in them"
        )
    return template.replace(CODE_PLACEHOLDER, code)


def _check_one_line(text: str, field: str, length_max: int = TEMPLATE_TEXT_CHARACTERS_MAX) -> None:
    if len(text) > length_max or _CONTROLS.search(text):
        raise InvalidRequest(
            f"invalid email customization: field `{field}`: expected at most {length_max} characters on one line"
        )


def _link(branding: Branding, secret: str) -> str | None:
    if branding.link_template is None:
        return None
    return branding.link_template.replace(LINK_PLACEHOLDER, quote(secret, safe=""))


def _anchor(link: str | None, label: str) -> str:
    return "" if link is None else f'<p><a href="{html.escape(link, quote=True)}">{label}</a></p>'


def _page(branding: Branding, parts: list[str]) -> str:
    logo = ""
    if branding.logo_url is not None:
        address = html.escape(branding.logo_url, quote=True)
        logo = f'<p><img src="{address}" alt="" style="max-width:340px;max-height:124px"></p>'
    return (
        f'<!doctype html><html lang="en"><body style="font-family:sans-serif">{logo}{"".join(parts)}</body></html>'
    )


def _days(seconds: int) -> str:
    """A long time, rounded down to its greatest unit."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"1 {unit}" if count == 1 else f"{count} {unit}s"
    return f"{seconds} seconds"


def _minutes(seconds: int) -> str:
    minutes = max(1, round(seconds / 60))
    return "1 minute" if minutes == 1 else f"{minutes} minutes"
