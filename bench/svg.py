"""A picture as SVG text: bars, lines, dots and words, in colours that follow the reader's light or dark scheme.

Not here: what the pictures show (`figures`).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 760

_STYLE = """\
text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px}.dim{fill:#59636e}.head{font-weight:600}
.grid{fill:none;stroke:#d1d9e0}.a{fill:#2f6fde;stroke:#2f6fde}.b{fill:#c2571a;stroke:#c2571a}
.line{fill:none!important;stroke-width:2}.end{text-anchor:end}.middle{text-anchor:middle}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}.grid{stroke:#3d444d}
.a{fill:#6ea8ff;stroke:#6ea8ff}.b{fill:#f0a868;stroke:#f0a868}}"""


class Picture:
    """Shapes in the order in which they are drawn. `title` is the text for screen readers."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._shapes: list[str] = []

    def heading(self, words: str, below: str) -> None:
        """The first two lines; what follows begins at 56."""
        self.text(0, 16, words, "head")
        self.text(0, 36, below, "small dim")

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        self._shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self._shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height}" rx="2" class="{kind}"/>'
        )

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(f'<polyline points="{path}" class="{kind}"/>')

    def dot(self, x: float, y: float, kind: str) -> None:
        self._shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{kind}"/>')

    def svg(self, height: float) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">'
            f"<title>{escape(self._title)}</title><style>{_STYLE}</style>\n"
            + "\n".join(self._shapes)
            + "\n</svg>\n"
        )
