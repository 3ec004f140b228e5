// The parts of a policy's clause as the server explains them, as a tree. Pure.

/**
 * @typedef {{depth: number, text: string, operator: string, value: "true" | "false" | "unknown" | "not applicable",
 *   reason?: string, values: {path: string, value: string}[]}} Part as the server lists it: operands follow their part
 * @typedef {Part & {operands: Tree[]}} Tree
 */

/** @param {Part[]} parts the whole first @returns {Tree} */
export function treeOf(parts) {
  const [whole, ...rest] = parts.map((part) => ({ ...part, operands: /** @type {Tree[]} */ ([]) }));
  const path = [whole];
  for (const part of rest) {
    path.length = part.depth;
    path[part.depth - 1].operands.push(part);
    path.push(part);
  }
  return whole;
}

/**
 * What must change for the whole to be true: the parts without operands that stand in its way.
 * @param {Tree} tree
 * @returns {Set<Tree>}
 */
export function hindrances(tree) {
  /** @type {Set<Tree>} */
  const found = new Set();
  /** @param {Tree} part @param {string} wanted */
  const look = (part, wanted) => {
    if (part.value === wanted) return;
    if (!part.operands.length) found.add(part);
    for (const operand of part.operands) look(operand, part.operator === "!" ? (wanted === "true" ? "false" : "true") : wanted);
  };
  look(tree, "true");
  return found;
}
