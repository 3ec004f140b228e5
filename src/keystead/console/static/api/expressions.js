// The policy language as an editor needs it: its tokens for colours, and what may stand at the caret. Pure.

/** @typedef {{kind: "string" | "number" | "operator" | "function" | "word" | "name" | "other", text: string}} Token */

const TOKENS = /(?<string>'[^'\n]*'?|"[^"\n]*"?)|(?<number>\b\d+\b)|(?<operator>&&|\|\||[=!<>]=|[<>!])|(?<function>\b(?:any|all|filter|contains|count|Timestamp|CronSpan)\b(?=\s*\())|(?<word>\b(?:true|false|in)\b)|(?<name>[A-Za-z_]\w*)|(?<other>\s+|.)/gs;

/** @param {string} text @returns {Token[]} */
export function tokensOf(text) {
  return [...text.matchAll(TOKENS)].map((match) => {
    const [kind, found] = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined) ?? ["other", match[0]];
    return { kind: /** @type {Token["kind"]} */ (kind), text: String(found) };
  });
}

/** The position in a text of a line and a column, both from 1. @param {string} text @param {number} line @param {number} column */
export function positionOf(text, line, column) {
  const before = text.split("\n").slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.min(before + column - 1, text.length);
}

const LIST_FUNCTIONS = [
  ["any(", "whether one item fits"],
  ["all(", "whether every item fits"],
  ["filter(", "the items that fit"],
  ["contains(", "whether a value is in the list"],
  ["count()", "how many items"],
];

/**
 * What may stand at the caret: members of the path before it, or keywords.
 * @param {string} text
 * @param {number} caret
 * @param {{path: string, type: string}[]} keywords of this clause
 * @returns {{start: number, offered: {text: string, note: string}[]}} `start`: where the word at the caret begins
 */
export function completions(text, caret, keywords) {
  const before = text.slice(0, caret);
  if (insideString(before)) return { start: caret, offered: [] };
  const found = /([A-Za-z_][\w.]*(?:\[[^\]]*\][\w.]*)*)?$/.exec(before);
  const typed = found?.[1] ?? "";
  if (!typed) return { start: caret, offered: [] };
  const dot = typed.lastIndexOf(".");
  const word = typed.slice(dot + 1);
  const path = dot < 0 ? "" : resolved(typed.slice(0, dot).replace(/\[[^\]]*\]/g, "[]"), before, keywords);
  const prefix = path ? `${path}.` : "";
  /** @type {Map<string, string>} */
  const members = new Map();
  for (const { path: known, type } of keywords) {
    if (!known.startsWith(prefix)) continue;
    const member = /^\w+/.exec(known.slice(prefix.length))?.[0];
    if (member) members.set(member, known === prefix + member ? type : members.get(member) ?? "…");
  }
  if (path && keywords.some((each) => each.path === path && each.type === "a list")) LIST_FUNCTIONS.forEach(([name, note]) => members.set(name, note));
  const offered = [...members].filter(([name]) => name.startsWith(word) && name !== word).map(([name, note]) => ({ text: name, note }));
  return { start: caret - word.length, offered: offered.slice(0, 12) };
}

/** A path whose first name is a variable of a list function, such as user in approvers.any(user, user.id). */
/** @param {string} path @param {string} before @param {{path: string}[]} keywords */
function resolved(path, before, keywords) {
  const [first, ...rest] = path.split(".");
  if (keywords.some((each) => each.path === first || each.path.startsWith(`${first}.`) || each.path.startsWith(`${first}[`))) return path;
  const list = [...before.matchAll(/([\w.]+)\.(?:any|all|filter)\(\s*(\w+)\s*,/g)].findLast((match) => match[2] === first)?.[1];
  return list ? [`${list}[]`, ...rest].join(".") : path;
}

/** @param {string} before */
function insideString(before) {
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return line.split("'").length % 2 === 0;
}
