// node ethers.mjs CLIENT: the published signer for ethers, over one published client. Ethers verifies what it signs.
import assert from "node:assert/strict";
import { getSignatureFromActivity, getSignedTransactionFromActivity } from "@turnkey/http";
import { TurnkeySigner, serializeSignature } from "@turnkey/ethers";
import { Transaction, getBytes, verifyMessage, verifyTypedData } from "ethers";
import { organizationId } from "./clients.mjs";
import { approve, newPrivateKey, newUser, newUserWhoWaits, newWallet, report, root } from "./signers.mjs";

const wallet = await newWallet();
const address = wallet.addresses[0];
const privateKey = await newPrivateKey();
const signerOf = (client, signWith) => new TurnkeySigner({ client: client.published, organizationId, signWith });
const signer = signerOf(root, address);

const to = "0x08d2b0a37F869FF76BACB5Bab3278E26ab7067B7";
const paid = { nonce: 7, gasLimit: 50_000n, to, value: 10n ** 18n, data: "0xa9059cbb" };
const dynamic = { chainId: 1, maxFeePerGas: 30n * 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n, ...paid };
const accessList = [{ address: to, storageKeys: [`0x${"00".repeat(31)}07`] }];
const transactions = {
  legacy: { type: 0, chainId: 1, gasPrice: 10n ** 10n, ...paid },
  legacy_of_a_large_chain_id: { type: 0, chainId: 11_155_111, gasPrice: 10n ** 10n, ...paid },
  eip2930: { type: 1, chainId: 1, gasPrice: 10n ** 10n, accessList, ...paid },
  eip1559: { type: 2, accessList, ...dynamic },
  eip1559_creates_a_contract: { type: 2, ...dynamic, to: undefined, data: "0x6000" },
  eip1559_without_fees: { type: 2, chainId: 10, to, nonce: 0, gasLimit: 21_000, maxFeePerGas: 0, maxPriorityFeePerGas: 0 },
  eip4844: { type: 3, ...dynamic, maxFeePerBlobGas: 5n, blobVersionedHashes: [`0x01${"ab".repeat(31)}`] },
};

const domain = { name: "Ether Mail", version: "1", chainId: 1, verifyingContract: to };
const types = {
  Person: [{ name: "name", type: "string" }, { name: "wallets", type: "address[]" }],
  Mail: [{ name: "from", type: "Person" }, { name: "amount", type: "uint256" }, { name: "contents", type: "string" }],
};
const mail = { from: { name: "Cow", wallets: [to, address] }, amount: 2n ** 200n, contents: "Hello, Bob! ☕" };

const cases = {
  async address_of_an_account() {
    assert.equal(await signer.getAddress(), address);
    assert.equal(await signerOf(root, address.toLowerCase()).getAddress(), address.toLowerCase());
  },

  async address_of_a_private_key() {
    assert.equal(await signerOf(root, privateKey.privateKeyId).getAddress(), privateKey.address);
  },

  async no_address_of_another_key() {
    await assert.rejects(signerOf(root, wallet.walletId).getAddress());
  },

  async no_transaction_of_any_chain() {
    await assert.rejects(signer.signTransaction({ type: 0, gasPrice: 10n ** 10n, ...paid }), /names no chain id/);
  },

  async a_message() {
    const evidence = [];
    for (const text of ["hello", "", "Grüße ☕", "0x1234"]) {
      const signature = await signer.signMessage(text);
      assert.equal(verifyMessage(text, signature), address, text);
      evidence.push({ kind: "message", address, text, signature });
    }
    return evidence;
  },

  async a_message_of_bytes() {
    const message = getBytes("0x00ff10");
    assert.equal(verifyMessage(message, await signer.signMessage(message)), address);
  },

  async a_message_by_a_private_key() {
    const signature = await signerOf(root, privateKey.privateKeyId).signMessage("hello");
    assert.equal(verifyMessage("hello", signature), privateKey.address);
    return [{ kind: "message", address: privateKey.address, text: "hello", signature }];
  },

  async typed_data() {
    const signature = await signer.signTypedData(domain, types, mail);
    assert.equal(verifyTypedData(domain, types, mail, signature), address);
    return [{ kind: "typed_data", address, data: { domain, types, primaryType: "Mail", message: mail }, signature }];
  },

  async a_transaction_from_the_signer_itself() {
    const signed = await signer.signTransaction({ from: address, ...transactions.eip1559 });
    assert.equal(Transaction.from(signed).from, address);
  },

  async a_transaction_that_waits() {
    const ana = signerOf(await newUserWhoWaits(), address);
    const waiting = await failure(ana.signTransaction({ ...transactions.eip1559 }));
    assert.equal(waiting.name, "TurnkeyActivityConsensusNeededError", waiting.stack);
    assert.equal(waiting.activityStatus, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    const signed = Transaction.from(getSignedTransactionFromActivity(await approve(waiting)));
    assert.deepEqual([signed.from, signed.nonce], [address, paid.nonce]);
  },

  async a_message_that_waits() {
    const ana = signerOf(await newUserWhoWaits(), address);
    const waiting = await failure(ana.signMessage("later"));
    assert.equal(waiting.name, "TurnkeyActivityConsensusNeededError", waiting.stack);
    const signature = serializeSignature(getSignatureFromActivity(await approve(waiting)));
    assert.equal(verifyMessage("later", signature), address);
  },

  async a_user_without_rights() {
    const refused = await failure(signerOf(await newUser(), address).signMessage("never"));
    assert.equal(refused.name, "TurnkeyActivityError", refused.stack);
    assert.deepEqual([refused.cause.name, refused.cause.code], ["TurnkeyRequestError", 7], refused.stack);
  },
};
for (const [name, transaction] of Object.entries(transactions)) {
  cases[`transaction_${name}`] = async () => {
    const evidence = [];
    for (const signWith of [address, privateKey.privateKeyId]) {
      const signed = await signerOf(root, signWith).signTransaction({ ...transaction });
      const [read, asked] = [Transaction.from(signed), Transaction.from(transaction)];
      const expected = signWith === address ? address : privateKey.address;
      assert.equal(read.from, expected);
      assert.equal(read.unsignedSerialized, asked.unsignedSerialized);
      evidence.push({ kind: "transaction", address: expected, signed });
    }
    return evidence;
  };
}

const failure = (request) => request.then(() => assert.fail("it was signed"), (error) => error);

await report(cases);
