// node viem.mjs CLIENT: the published accounts for viem, over one published client. Viem verifies what it signs.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { getSignedTransactionFromActivity } from "@turnkey/http";
import {
  createAccount,
  createAccountWithAddress,
  createApiKeyAccount,
  isTurnkeyActivityConsensusNeededError,
  isTurnkeyActivityError,
} from "@turnkey/viem";
import {
  hashMessage,
  keccak256,
  parseTransaction,
  recoverAddress,
  recoverMessageAddress,
  recoverTransactionAddress,
  recoverTypedDataAddress,
} from "viem";
import { Transaction as TempoTransaction } from "viem/tempo";
import { recoverAuthorizationAddress } from "viem/utils";
import { organizationId } from "./clients.mjs";
import { approve, newPrivateKey, newUser, newUserWhoWaits, newWallet, report, root } from "./signers.mjs";

const wallet = await newWallet();
const address = wallet.addresses[0];
const privateKey = await newPrivateKey();
const accountOf = (client, signWith) => createAccount({ client: client.published, organizationId, signWith });
const accounts = [await accountOf(root, address), await accountOf(root, privateKey.privateKeyId)];
const [account] = accounts;

const to = "0x08d2b0a37f869ff76bacb5bab3278e26ab7067b7";
const paid = { nonce: 7, gas: 50_000n, to, value: 10n ** 18n, data: "0xa9059cbb" };
const dynamic = { chainId: 1, maxFeePerGas: 30n * 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n, ...paid };
const accessList = [{ address: to, storageKeys: [`0x${"00".repeat(31)}07`] }];

// A blob of zeros: its commitment and its proof are the point at infinity, so nothing has to be computed.
const infinity = `0xc0${"00".repeat(47)}`;
const sidecar = { blob: `0x${"00".repeat(131_072)}`, commitment: infinity, proof: infinity };
const commitmentHash = createHash("sha256").update(infinity.slice(2), "hex").digest("hex");
const blobVersionedHashes = [`0x01${commitmentHash.slice(2)}`];

const transactions = {
  legacy: { type: "legacy", chainId: 1, gasPrice: 10n ** 10n, ...paid },
  eip2930: { type: "eip2930", chainId: 1, gasPrice: 10n ** 10n, accessList, ...paid },
  eip1559: { type: "eip1559", accessList, ...dynamic },
  eip4844: { type: "eip4844", ...dynamic, maxFeePerBlobGas: 5n, blobVersionedHashes },
  eip4844_with_its_blob: {
    type: "eip4844",
    ...dynamic,
    maxFeePerBlobGas: 5n,
    blobVersionedHashes,
    sidecars: [sidecar],
  },
};

const domain = { name: "Ether Mail", version: "1", chainId: 1, verifyingContract: to };
const types = {
  EIP712Domain: [
    { name: "name", type: "string" },
    { name: "version", type: "string" },
    { name: "chainId", type: "uint256" },
    { name: "verifyingContract", type: "address" },
  ],
  Person: [{ name: "name", type: "string" }, { name: "wallets", type: "address[]" }],
  Mail: [{ name: "from", type: "Person" }, { name: "amount", type: "uint256" }, { name: "contents", type: "string" }],
};
const message = { from: { name: "Cow", wallets: [to, address] }, amount: 2n ** 200n, contents: "Hello, Bob! ☕" };
const mail = { domain, types, primaryType: "Mail", message };

const failure = (request) => request.then(() => assert.fail("it was signed"), (error) => error);

const cases = {
  async addresses() {
    assert.deepEqual(accounts.map((one) => one.address), [address, privateKey.address]);
    const given = { client: root.published, organizationId, ethereumAddress: privateKey.address };
    const named = createAccountWithAddress({ ...given, signWith: privateKey.privateKeyId });
    assert.equal(named.address, privateKey.address);
  },

  async an_account_from_an_api_key() {
    const made = await createApiKeyAccount({
      apiPublicKey: process.env.KEYSTEAD_API_PUBLIC_KEY,
      apiPrivateKey: process.env.KEYSTEAD_API_PRIVATE_KEY,
      baseUrl: process.env.KEYSTEAD_BASE_URL,
      organizationId,
      privateKeyId: privateKey.privateKeyId,
    });
    assert.equal(made.address, privateKey.address);
    const signature = await made.signMessage({ message: "hello" });
    return [{ kind: "message", address: privateKey.address, text: "hello", signature }];
  },

  async no_transaction_of_any_chain() {
    const refused = await failure(account.signTransaction({ type: "legacy", gasPrice: 10n ** 10n, ...paid }));
    assert.match(`${refused.message} ${refused.cause?.message}`, /names no chain id/);
  },

  async a_message() {
    const evidence = [];
    for (const { address, signMessage } of accounts) {
      for (const text of ["hello", "", "Grüße ☕", "0x1234"]) {
        const signature = await signMessage({ message: text });
        assert.equal(await recoverMessageAddress({ message: text, signature }), address);
        evidence.push({ kind: "message", address, text, signature });
      }
    }
    return evidence;
  },

  async a_message_of_bytes() {
    const raw = { message: { raw: "0x00ff10" } };
    const signature = await account.signMessage(raw);
    assert.equal(await recoverMessageAddress({ ...raw, signature }), address);
  },

  async a_digest() {
    const hash = keccak256("0x01");
    assert.equal(await recoverAddress({ hash, signature: await account.sign({ hash }) }), address);
  },

  async typed_data() {
    const signature = await account.signTypedData(mail);
    assert.equal(await recoverTypedDataAddress({ ...mail, signature }), address);
    const { EIP712Domain: _, ...ownTypes } = types;
    return [{ kind: "typed_data", address, data: { ...mail, types: ownTypes }, signature }];
  },

  async an_authorization() {
    for (const [chainId, nonce] of [[1, 7], [0, 0], [11_155_111, 2 ** 40]]) {
      for (const { address, signAuthorization } of accounts) {
        const authorization = await signAuthorization({ contractAddress: to, chainId, nonce });
        assert.equal(await recoverAuthorizationAddress({ authorization }), address);
      }
    }
  },

  async transaction_eip7702() {
    const authorization = await accounts[1].signAuthorization({ contractAddress: to, chainId: 1, nonce: 0 });
    const asked = { type: "eip7702", ...dynamic, authorizationList: [authorization] };
    const signed = await account.signTransaction(asked);
    assert.equal(await recoverTransactionAddress({ serializedTransaction: signed }), address);
    const [carried] = parseTransaction(signed).authorizationList;
    assert.equal(await recoverAuthorizationAddress({ authorization: carried }), privateKey.address);
    return [{ kind: "transaction", address, signed }];
  },

  async transaction_tempo() {
    const calls = [{ to, value: 0n, data: "0xa9059cbb" }, { to: address, value: 5n, data: "0x" }];
    const plain = { type: "tempo", chainId: 4217, calls, gas: 100_000n, maxFeePerGas: 20n, maxPriorityFeePerGas: 2n };
    for (const extra of [{ nonce: 3 }, { nonceKey: 9n, validBefore: 2_000_000_000, validAfter: 5, feeToken: to, nonce: 1 }]) {
      const asked = { ...plain, ...extra };
      const serializer = TempoTransaction.serialize;
      const signed = await account.signTransaction(asked, { serializer });
      const { signature, ...read } = TempoTransaction.deserialize(signed);
      const unsigned = await serializer(asked);
      assert.equal(signature.type, "secp256k1");
      assert.equal(await recoverAddress({ hash: keccak256(unsigned), signature: plainly(signature) }), address);
      assert.deepEqual(read.calls.map((call) => call.to), [to, address.toLowerCase()]);
    }
  },

  async a_transaction_that_waits() {
    const ana = await accountOf(await newUserWhoWaits(), address);
    const waiting = await failure(ana.signTransaction(transactions.eip1559));
    assert.ok(isTurnkeyActivityConsensusNeededError(waiting), waiting.stack);
    assert.deepEqual(
      [waiting.name, waiting.activityStatus],
      ["TurnkeyConsensusNeededError", "ACTIVITY_STATUS_CONSENSUS_NEEDED"],
    );
    const signed = getSignedTransactionFromActivity(await approve(waiting));
    assert.equal(await recoverTransactionAddress({ serializedTransaction: signed }), address);
  },

  async a_message_that_waits() {
    const ana = await accountOf(await newUserWhoWaits(), address);
    const waiting = await failure(ana.signMessage({ message: "later" }));
    assert.ok(isTurnkeyActivityConsensusNeededError(waiting), waiting.stack);
    const { result } = await approve(waiting);
    const { r, s, v } = result.signRawPayloadResult;
    const signature = { r: `0x${r}`, s: `0x${s}`, yParity: Number(v) };
    assert.equal(await recoverAddress({ hash: hashMessage("later"), signature }), address);
  },

  async a_user_without_rights() {
    const eve = await accountOf(await newUser(), address);
    const refused = await failure(eve.signMessage({ message: "never" }));
    assert.ok(isTurnkeyActivityError(refused), refused.stack);
    assert.match(refused.message, /Turnkey error 7/);
  },
};
for (const [name, transaction] of Object.entries(transactions)) {
  cases[`transaction_${name}`] = async () => {
    const evidence = [];
    for (const { address, signTransaction } of accounts) {
      const signed = await signTransaction(transaction);
      assert.equal(await recoverTransactionAddress({ serializedTransaction: signed }), address);
      const read = parseTransaction(signed);
      for (const field of ["type", "chainId", "nonce", "to", "value", "data", "gas", "maxFeePerGas", "gasPrice"]) {
        assert.equal(read[field], transaction[field], field);
      }
      if (transaction.sidecars) assert.deepEqual(read.sidecars, transaction.sidecars);
      else evidence.push({ kind: "transaction", address, signed }); // Python needs 10 seconds for a blob
    }
    return evidence;
  };
}

function plainly({ signature: { r, s, yParity } }) {
  const hex = (number) => `0x${number.toString(16).padStart(64, "0")}`;
  return { r: hex(r), s: hex(s), yParity };
}

await report(cases);
