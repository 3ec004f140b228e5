// Policies to begin with, for who does not know the language yet. Addresses and amounts are to be replaced.

/** The condition of transfers of coins to one address, with a fee of at most 0.02 coins. @param {string} address @param {bigint} wei the most of one transfer */
export const transfersTo = (address, wei) => `activity.kind == 'SIGN_TRANSACTION' && eth.tx.fee <= 20000000000000000 && eth.tx.movements.count() == 1 && eth.tx.movements.all(each, each.kind == 'TRANSFER' && each.asset == 'NATIVE' && each.to == '${address}' && each.amount <= ${wei})`;

/** Transfers to nobody: an address is to be given before it is saved. */
export const NO_ADDRESS_YET = transfersTo(`0x${"0".repeat(40)}`, 100_000_000_000_000_000n);

/** `asksLimit`: its address and amount are asked for. */
/** @type {{title: string, effect: string, condition: string, consensus: string, asksLimit?: boolean}[]} */
export const EXAMPLES = [
  {
    title: "Transfers to one address, up to an amount",
    effect: "EFFECT_ALLOW",
    condition: NO_ADDRESS_YET,
    consensus: "",
    asksLimit: true,
  },
  { title: "Two people approve payments", effect: "EFFECT_ALLOW", condition: "activity.kind == 'SIGN_TRANSACTION'", consensus: "approvers.count() >= 2" },
  { title: "Nobody exports keys", effect: "EFFECT_DENY", condition: "activity.action == 'EXPORT'", consensus: "" },
];

/** The consensus that these users meet, as many of them as `count`. @param {string[]} userIds @param {number} count */
export function consensusOf(userIds, count) {
  if (userIds.length === 1) return `approvers.any(user, user.id == '${userIds[0]}')`;
  return `approvers.filter(user, user.id in [${userIds.map((id) => `'${id}'`).join(", ")}]).count() >= ${count}`;
}
