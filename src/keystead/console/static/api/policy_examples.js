// Policies to begin with, for who does not know the language yet. Addresses and amounts are to be replaced.

/** Transfers to nobody: an address is to be given before it is saved. */
export const NO_ADDRESS_YET = "activity.kind == 'SIGN_TRANSACTION' && eth.tx.to == '0x0000000000000000000000000000000000000000' && eth.tx.value <= 100000000000000000";

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
