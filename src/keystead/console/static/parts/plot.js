// Columns over time, stacked by words that differ in their pattern, too; each read by pointing at it, by the arrow keys, or in a table.
import { html, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { dateInWords } from "../words.js";
import { Table } from "./table.js";

const [HEIGHT, HEAD, FOOT] = [180, 6, 20];
const TALL = HEIGHT - HEAD - FOOT;
const LABEL = 88;
const DIGIT = 7;
const PATTERNS = 6;

/** @typedef {import("../api/history.js").Bucket} Bucket */

/**
 * @param {{title: string, over: Bucket[], words: string[], isOutcome?: boolean}} properties `words`: from the bottom up, at most six.
 *   `isOutcome`: they have the colours of completed, waiting, rejected, failed
 */
export function Plot({ title, over, words, isOutcome = false }) {
  const present = words.filter((word) => over.some(({ counts }) => counts[word]));
  const [at, setAt] = useState(-1);
  const kind = isOutcome ? "outcomes" : "kinds";
  const figure = useRef(/** @type {HTMLElement | null} */ (null));
  const width = useWidth(figure);
  if (!present.length) return html`<figure ref=${figure}><p class="muted nothing-plotted">None in this period.</p></figure>`;
  const most = rounded(Math.max(...over.map(({ counts }) => total(counts))));
  const left = 12 + DIGIT * most.toLocaleString("en").length;
  const step = (width - left) / over.length;
  const probe = (/** @type {MouseEvent} */ event) => setAt(Math.min(Math.max(Math.floor((event.offsetX - left) / step), 0), over.length - 1));
  return html`<figure class=${kind} ref=${figure}>
    <div class="probed" onMouseMove=${probe} onMouseLeave=${() => setAt(-1)}>
      <svg class="plot" viewBox=${`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        <${Patterns} kind=${kind} />
        ${at < 0 ? null : html`<rect class="probe-mark" x=${left + at * step} width=${step} y="0" height=${HEIGHT - FOOT} />`}
        ${[most, most / 2].map((number, index) => html`<line class="grid" x1=${left} x2=${width} y1=${HEAD + index * (TALL / 2)} y2=${HEAD + index * (TALL / 2)} />
          <text x=${left - 6} y=${HEAD + 4 + index * (TALL / 2)} text-anchor="end">${number.toLocaleString("en")}</text>`)}
        <text x=${left - 6} y=${HEIGHT - FOOT} text-anchor="end">0</text><line class="axis" x1=${left} x2=${width} y1=${HEIGHT - FOOT} y2=${HEIGHT - FOOT} />
        ${over.map((bucket, index) => html`<${Column} key=${bucket.startMs} bucket=${bucket} words=${words} most=${most} left=${left + index * step} step=${step} />`)}
        ${labelled(over.length, width - left).map((index) => html`<text key=${index} x=${left + index * step} y=${HEIGHT - 4}>${over[index].label}</text>`)}
      </svg>
      <input class="probe" type="range" min="0" max=${over.length - 1} value=${at < 0 ? over.length - 1 : at} aria-label=${`${title}: columns from the oldest to the newest`}
        aria-valuetext=${inWords(over[at < 0 ? over.length - 1 : at], present)} onFocus=${(/** @type {any} */ event) => event.target.matches(":focus-visible") && setAt(Number(event.target.value))}
        onInput=${(/** @type {any} */ event) => setAt(Number(event.target.value))} onBlur=${() => setAt(-1)} />
    </div>
    <p class="small probe-words" aria-hidden="true">${at < 0 ? html`<span class="muted">Point at a column, or go through them with the arrow keys.</span>` : inWords(over[at], present)}</p>
    <figcaption class="legend">${present.map((word) => html`<span key=${word}><svg width="14" height="14" aria-hidden="true"><rect class=${seriesOf(words, word)} width="14" height="14" rx="3" /></svg>${word}</span>`)}</figcaption>
    <details><summary class="muted small">As a table</summary><div class="scrolls" tabindex="0" role="group" aria-label=${`Numbers of ${title.charAt(0).toLowerCase()}${title.slice(1)}`}><${Table} caption=${title} rows=${over} idOf=${(/** @type {Bucket} */ each) => String(each.startMs)}
      columns=${[{ title: "From", cell: (/** @type {Bucket} */ each) => dateInWords(each.startMs) }, ...present.map((word) => ({ title: word, cell: (/** @type {Bucket} */ each) => (each.counts[word] ?? 0).toLocaleString("en") }))]} /></div></details>
  </figure>`;
}

/** An even number of few digits, so that its half is whole. @param {number} most */
function rounded(most) {
  const size = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  return [2, 4, 6, 8, 10, 20].map((each) => each * size / (size > 1 ? 2 : 1)).filter((each) => each % 2 === 0).find((each) => each >= most) ?? most;
}

/** The columns that have a label. @param {number} number @param {number} width */
function labelled(number, width) {
  const every = Math.max(1, Math.ceil((number * LABEL) / width));
  return Array.from({ length: number }, (_, index) => index).filter((index) => index % every === 0 && index * (width / number) <= width - LABEL);
}

/** @param {Bucket} bucket @param {string[]} words */
function inWords({ startMs, endMs, counts }, words) {
  const counted = words.filter((word) => counts[word]).map((word) => `${word} ${counts[word].toLocaleString("en")}`);
  return `${dateInWords(startMs)} to ${dateInWords(endMs)}: ${counted.join(", ") || "none"}`;
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
    const size = (count / most) * TALL;
    top -= size;
    return size ? html`<rect key=${word} class=${seriesOf(words, word)} x=${left + Math.min(step * 0.1, 3)} width=${Math.min(Math.max(step * 0.8, 2), 60)} y=${top} height=${size} />` : null;
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
