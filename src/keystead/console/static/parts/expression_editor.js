// A field for an expression of the policy language: colours, completion, and the error at its place.
import { html, useId, useRef, useState } from "../vendor/preact.js";
import { namedIn } from "../api/directory.js";
import { completions, positionOf, tokensOf } from "../api/expressions.js";

/**
 * @typedef {{message: string, line: number, column: number}} Problem
 * @param {{label: string, hint: string, value: string, onChange: (value: string) => void, problem?: Problem, keywords: {path: string, type: string}[],
 *   names: Map<string, import("../api/directory.js").Named>}} properties `names`: of the ids in it
 */
export function ExpressionEditor({ label, hint, value, onChange, problem, keywords, names }) {
  const id = useId();
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [offer, setOffer] = useState(/** @type {{start: number, offered: {text: string, note: string}[], chosen: number}} */ ({ start: 0, offered: [], chosen: 0 }));
  const close = () => setOffer({ start: 0, offered: [], chosen: 0 });
  const look = () => {
    const caret = area.current?.selectionStart ?? 0;
    setOffer({ ...completions(area.current?.value ?? "", caret, keywords), chosen: 0 });
  };
  const take = (/** @type {string} */ text) => {
    const field = area.current;
    if (!field) return;
    const caret = field.selectionStart;
    field.setRangeText(text, offer.start, caret, "end");
    onChange(field.value);
    field.focus();
    close();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === " " && event.ctrlKey) return event.preventDefault(), look();
    if (!offer.offered.length) return undefined;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      const chosen = (offer.chosen + move + offer.offered.length) % offer.offered.length;
      setOffer({ ...offer, chosen });
      document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" || event.key === "Tab") {
      event.preventDefault();
      take(offer.offered[offer.chosen].text);
    } else if (event.key === "Escape") {
      event.preventDefault();
      close();
    }
    return undefined;
  };
  return html`<div class="field"><label for=${id}>${label}</label>
    <div class=${`editor ${problem ? "wrong" : ""}`}>
      <pre class="paint" aria-hidden="true">${painted(value, problem)}${"\n"}</pre>
      <textarea ref=${area} id=${id} spellcheck=${false} autocapitalize="off" autocomplete="off" value=${value} aria-invalid=${problem ? "true" : undefined}
        aria-describedby=${`${id}-hint`} aria-autocomplete="list" aria-controls=${`${id}-offer`}
        aria-activedescendant=${offer.offered.length ? `${id}-${offer.chosen}` : undefined}
        onInput=${(/** @type {any} */ event) => (onChange(event.target.value), look())} onKeyDown=${key} onBlur=${close}></textarea>
      <ul id=${`${id}-offer`} class="offer" role="listbox" aria-label=${`Completions of ${label}`} hidden=${!offer.offered.length}>
        ${offer.offered.map(({ text, note }, index) => html`<li id=${`${id}-${index}`} role="option" aria-selected=${index === offer.chosen}
          onMouseDown=${(/** @type {Event} */ event) => (event.preventDefault(), take(text))}><code>${text}</code><span>${note}</span></li>`)}
      </ul>
    </div>
    <div id=${`${id}-hint`}>${problem ? html`<div class="problem">Line ${problem.line}, column ${problem.column}: ${problem.message}</div>` : html`<div class="hint">${hint}</div>`}</div><${NamesIn} text=${value} names=${names} /></div>`;
}

/** Whose the ids in an expression are. @param {{text: string, names: Map<string, import("../api/directory.js").Named>}} properties */
export function NamesIn({ text, names }) {
  return namedIn(text, names).map(([id, { name, what, href }]) => html`<div class="small muted wrap prose"><code>${id.slice(0, 8)}…${id.slice(-4)}</code> is the ${what.toLowerCase()} <a href=${href}>${name}</a></div>`);
}

/** The text in colours, with a mark under the place of the problem. @param {string} text @param {Problem | undefined} problem */
export function painted(text, problem) {
  const wrong = problem ? positionOf(text, problem.line, problem.column) : -1;
  let at = 0;
  return tokensOf(text).map(({ kind, text: part }) => {
    const isWrong = wrong >= at && wrong < at + part.length;
    at += part.length;
    return kind === "other" && !isWrong ? part : html`<span class=${`token ${kind} ${isWrong ? "mistake" : ""}`}>${part}</span>`;
  });
}
