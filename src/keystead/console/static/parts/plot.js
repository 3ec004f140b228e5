// Columns over time, stacked by words that differ in their pattern, too; with the numbers as a table.
import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { Table } from "./table.js";

const [HEIGHT, FOOT] = [180, 20];
const DIGIT = 7;
const PATTERNS = 6;

/** @typedef {import("../api/history.js").Bucket} Bucket */

/**
 * @param {{title: string, over: Bucket[], words: string[], isOutcome?: boolean}} properties `words`: from the bottom up, at most six.
 *   `isOutcome`: they have the colours of completed, waiting, rejected, failed
 */
export function Plot({ title, over, words, isOutcome = false }) {
  const present = words.filter((word) => over.some(({ counts }) => counts[word]));
  const most = Math.max(...over.map(({ counts }) => total(counts)), 1);
  const kind = isOutcome ? "outcomes" : "kinds";
  const figure = useRef(/** @type {HTMLElement | null} */ (null));
  const width = useWidth(figure);
  const left = 12 + DIGIT * most.toLocaleString("en").length;
  return html`<figure class=${kind} ref=${figure}>
    <svg class="plot" viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${`${title}: at most ${most} at once. The numbers are in the table below.`}>
      <${Patterns} kind=${kind} />
      <line class="grid" x1=${left} x2=${width} y1="4" y2="4" /><text x=${left - 6} y="9" text-anchor="end">${most.toLocaleString("en")}</text>
      <text x=${left - 6} y=${HEIGHT - FOOT} text-anchor="end">0</text><line class="axis" x1=${left} x2=${width} y1=${HEIGHT - FOOT} y2=${HEIGHT - FOOT} />
      ${over.map((bucket, index) => html`<${Column} key=${bucket.startMs} bucket=${bucket} words=${words} most=${most} left=${left + (index * (width - left)) / over.length} step=${(width - left) / over.length} />`)}
      <text x=${left} y=${HEIGHT - 4}>${over[0].label}</text>
      ${over.length > 1 ? html`<text x=${width} y=${HEIGHT - 4} text-anchor="end">${over.at(-1)?.label}</text>` : null}
    </svg>
    <figcaption class="legend">${present.map((word) => html`<span key=${word}><svg width="14" height="14" aria-hidden="true"><rect class=${seriesOf(words, word)} width="14" height="14" rx="3" /></svg>${word}</span>`)}</figcaption>
    <details><summary class="muted small">As a table</summary><div class="scrolls" tabindex="0" role="group" aria-label=${`Numbers of ${title.toLowerCase()}`}><${Table} caption=${title} rows=${over} idOf=${(/** @type {Bucket} */ each) => String(each.startMs)}
      columns=${[{ title: "From", cell: (/** @type {Bucket} */ each) => each.label }, ...words.map((word) => ({ title: word, cell: (/** @type {Bucket} */ each) => each.counts[word] ?? 0 }))]} /></div></details>
  </figure>`;
}

/** The width of an element as it is shown, so that what is written in it keeps its size. @param {{current: HTMLElement | null}} element */
function useWidth(element) {
  const [width, setWidth] = useState(720);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) => setWidth(Math.max(Math.round(contentRect.width), 200)));
    observer.observe(/** @type {HTMLElement} */ (element.current));
    return () => observer.disconnect();
  }, []);
  return width;
}

/** @param {{bucket: Bucket, words: string[], most: number, left: number, step: number}} properties */
function Column({ bucket, words, most, left, step }) {
  let top = HEIGHT - FOOT;
  const bars = words.map((word) => {
    const count = bucket.counts[word] ?? 0;
    const size = (count / most) * (HEIGHT - FOOT - 4);
    top -= size;
    return size ? html`<rect key=${word} class=${seriesOf(words, word)} x=${left + Math.min(step * 0.1, 3)} width=${Math.min(Math.max(step * 0.8, 2), 60)} y=${top} height=${size}><title>${bucket.label}: ${word} ${count}</title></rect>` : null;
  });
  return html`<g>${bars}</g>`;
}

/** @param {string[]} words @param {string} word */
function seriesOf(words, word) {
  return `bar series-${words.indexOf(word) % PATTERNS}`;
}

/** The fills that are not a plain colour. @param {{kind: string}} properties */
function Patterns({ kind }) {
  const pattern = (/** @type {number} */ number, /** @type {any} */ marks, turn = 0) => html`<pattern id=${`${kind}-${number}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform=${`rotate(${turn})`}>
    <rect class=${`fill-${number}`} width="6" height="6" />${marks}</pattern>`;
  return html`<defs>
    ${pattern(1, html`<rect class="fill-ground" width="2" height="6" />`, 45)}
    ${pattern(3, html`<circle class="fill-ground" cx="3" cy="3" r="1.4" />`)}
    ${pattern(4, html`<rect class="fill-ground" width="6" height="2" />`)}
    ${pattern(5, html`<path class="fill-ground" d="M0 0h2v2h-2zM3 3h2v2h-2z" />`)}
  </defs>`;
}

/** @param {Record<string, number>} counts */
function total(counts) {
  return Object.values(counts).reduce((sum, number) => sum + number, 0);
}

/** A list of words with a bar each; the numbers stand beside. @param {{caption: string, rows: [string, number][]}} properties */
export function Bars({ caption, rows }) {
  const most = Math.max(...rows.map(([, number]) => number), 1);
  return html`<table class="bars"><caption class="visually-hidden">${caption}</caption>
    <thead class="visually-hidden"><tr><th scope="col">What</th><th scope="col">Number</th></tr></thead>
    <tbody>${rows.map(([word, number]) => html`<tr key=${word}><th scope="row">${word}</th>
      <td><svg width="100%" height="10" aria-hidden="true"><rect class="bar series-0" height="10" rx="3" width=${`${(number / most) * 100}%`} /></svg></td>
      <td class="number">${number.toLocaleString("en")}</td></tr>`)}</tbody></table>`;
}
