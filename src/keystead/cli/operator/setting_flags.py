"""The flags of `keystead serve` and `keystead dev` that set settings of the same names.

Not here: the settings themselves (`server.settings.settings`), flags of one command alone.
"""

from __future__ import annotations

from typing import Annotated

import typer

TlsCert = Annotated[str, typer.Option(help="Certificate chain (PEM), to use TLS without a proxy.")]
TlsKey = Annotated[str, typer.Option(help="Its private key (PEM).")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes that serve. [default: 1]")]
TrustedProxies = Annotated[
    str, typer.Option(help="Networks of proxies whose X-Forwarded-For header is used, separated by commas.")
]
LogLevel = Annotated[str, typer.Option(help="The lowest level that is logged: debug, info, warning or error.")]
