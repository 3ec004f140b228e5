// node solana.mjs CLIENT: the published signer for web3.js, over one published client. web3.js verifies what it signs.
import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { getSignatureFromActivity, getSignedTransactionFromActivity } from "@turnkey/http";
import { TurnkeySigner } from "@turnkey/solana";
import {
  AddressLookupTableAccount,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { organizationId } from "./clients.mjs";
import { approve, newUser, newUserWhoWaits, newWallet, report, root } from "./signers.mjs";

const address = (await newWallet()).addresses[1];
const payer = new PublicKey(address);
const signerOf = (client) => new TurnkeySigner({ client: client.published, organizationId });
const signer = signerOf(root);
const recipient = Keypair.generate().publicKey;
const recentBlockhash = Keypair.generate().publicKey.toBase58();

const transfer = (fromPubkey = payer, toPubkey = recipient) =>
  SystemProgram.transfer({ fromPubkey, toPubkey, lamports: 5_000 });

function legacy(...instructions) {
  return new Transaction({ feePayer: payer, recentBlockhash }).add(...instructions);
}

function v0(instructions, tables) {
  const message = new TransactionMessage({ payerKey: payer, recentBlockhash, instructions });
  return new VersionedTransaction(message.compileToV0Message(tables));
}

const table = new AddressLookupTableAccount({
  key: Keypair.generate().publicKey,
  state: {
    deactivationSlot: 2n ** 64n - 1n,
    lastExtendedSlot: 0,
    lastExtendedSlotStartIndex: 0,
    authority: undefined,
    addresses: [recipient],
  },
});
const tabled = () => v0([transfer()], [table]);

function checked(key, message, signature) {
  const x = Buffer.from(key.toBytes()).toString("base64url");
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  assert.ok(verify(null, message, publicKey, signature), "the signature does not verify");
}

// What Python verifies in turn; fails if a signature is missing or wrong.
function verified(transaction) {
  if (transaction instanceof Transaction) {
    assert.ok(transaction.verifySignatures());
    return { kind: "solana_legacy", signed: transaction.serialize().toString("hex") };
  }
  const { message, signatures } = transaction;
  assert.equal(signatures.length, message.header.numRequiredSignatures);
  signatures.forEach((signature, i) => checked(message.staticAccountKeys[i], message.serialize(), signature));
  return { kind: "solana_v0", signed: Buffer.from(transaction.serialize()).toString("hex") };
}

const failure = (request) => request.then(() => assert.fail("it was signed"), (error) => error);

const cases = {
  async a_message() {
    const evidence = [];
    for (const message of [Buffer.from("hello"), Buffer.from("00ff10", "hex"), Buffer.alloc(1_000, 7)]) {
      const signature = await signer.signMessage(message, address);
      checked(payer, message, signature);
      const [hex, signed] = [message.toString("hex"), signature.toString("hex")];
      evidence.push({ kind: "ed25519", address, message: hex, signature: signed });
    }
    return evidence;
  },

  async a_transaction() {
    const [asked, evidence] = [[legacy(transfer()), v0([transfer()]), tabled()], []];
    for (const transaction of asked) {
      const signed = await signer.signTransaction(transaction, address);
      assert.equal(signed.constructor, transaction.constructor);
      evidence.push(verified(signed));
    }
    return evidence;
  },

  async adds_a_signature() {
    const asked = [legacy(transfer()), v0([transfer()]), tabled()];
    for (const transaction of asked) await signer.addSignature(transaction, address);
    return asked.map(verified);
  },

  async all_transactions() {
    const asked = [legacy(transfer()), legacy(transfer(), transfer(payer, payer)), v0([transfer()]), tabled()];
    const signed = await signer.signAllTransactions(asked, address);
    assert.equal(signed.length, asked.length);
    return signed.map(verified);
  },

  async the_same_bytes_both_ways() {
    const added = legacy(transfer());
    await signer.addSignature(added, address);
    const signed = await signer.signTransaction(legacy(transfer()), address);
    assert.deepEqual(signed.serialize(), added.serialize());
  },

  async one_of_two_signers_first() {
    const other = Keypair.generate();
    const transaction = legacy(transfer(), transfer(other.publicKey));
    const half = await signer.signTransaction(transaction, address);
    assert.equal(half.verifySignatures(false), true);
    half.partialSign(other);
    return [verified(half)];
  },

  async one_of_two_signers_last() {
    const other = Keypair.generate();
    const old = legacy(transfer(), transfer(other.publicKey));
    old.partialSign(other);
    const versioned = v0([transfer(), transfer(other.publicKey)]);
    versioned.sign([other]);
    return [
      verified(await signer.signTransaction(old, address)),
      verified(await signer.signTransaction(versioned, address)),
    ];
  },

  async a_transaction_of_others() {
    const other = Keypair.generate().publicKey;
    const transaction = new Transaction({ feePayer: other, recentBlockhash }).add(transfer(other));
    const refused = await failure(signer.signTransaction(transaction, address));
    assert.deepEqual([refused.name, refused.code], ["TurnkeyRequestError", 3], refused.stack);
  },

  async an_address_of_nobody_here() {
    const refused = await failure(signer.signMessage(Buffer.from("hello"), recipient.toBase58()));
    assert.deepEqual([refused.name, refused.code], ["TurnkeyRequestError", 5], refused.stack);
  },

  async a_transaction_that_waits() {
    const waiting = await failure(signerOf(await newUserWhoWaits()).signTransaction(legacy(transfer()), address));
    assert.equal(waiting.name, "TurnkeyActivityConsensusNeededError", waiting.stack);
    const signed = getSignedTransactionFromActivity(await approve(waiting));
    return [verified(Transaction.from(Buffer.from(signed.slice(2), "hex")))];
  },

  async a_message_that_waits() {
    const waiting = await failure(signerOf(await newUserWhoWaits()).signMessage(Buffer.from("later"), address));
    assert.equal(waiting.name, "TurnkeyActivityConsensusNeededError", waiting.stack);
    const { r, s } = getSignatureFromActivity(await approve(waiting));
    checked(payer, Buffer.from("later"), Buffer.from(r + s, "hex"));
  },

  async a_user_without_rights() {
    const refused = await failure(signerOf(await newUser()).signMessage(Buffer.from("never"), address));
    assert.deepEqual([refused.name, refused.code], ["TurnkeyRequestError", 7], refused.stack);
  },
};

await report(cases);
