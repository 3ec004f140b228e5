// A QR code of a text, drawn as one SVG path: black on white in both themes, for cameras.
import { html, useMemo } from "../vendor/preact.js";
import { encode } from "../vendor/qr.js";

/** @param {{text: string, label: string}} properties */
export function Qr({ text, label }) {
  const { size, path } = useMemo(() => {
    const { size, data } = encode(text, { border: 3 });
    const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
    return { size, path };
  }, [text]);
  return html`<svg class="qr" viewBox=${`0 0 ${size} ${size}`} role="img" aria-label=${label} shape-rendering="crispEdges"><path d=${path} fill="#000" /></svg>`;
}
