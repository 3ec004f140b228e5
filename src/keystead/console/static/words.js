// The API's names in words: statuses, types, fields, times. Pure.

/** Operations that are not called by their name. */
/** @type {Record<string, string>} */
const CALLED = {
  init_otp: "Send a one-time code", init_otp_auth: "Send a one-time code for a session", verify_otp: "Check a one-time code", otp_auth: "Log in with a one-time code and a bundle",
  otp_login: "Log in with a one-time code", stamp_login: "Log in", oauth_login: "Log in with an account elsewhere", oauth: "Log in with an account elsewhere and a bundle",
  email_auth: "Log in with a bundle by e-mail", recover_user: "Make a passkey with a link", recover_organization: "Recovery by the operator", init_user_email_recovery: "Send a recovery link",
  create_invitations: "Invite people", delete_invitation: "Withdraw an invitation", set_organization_feature: "Turn on a feature", remove_organization_feature: "Turn off a feature",
  set_ip_allowlist: "Set the IP allow-list", remove_ip_allowlist: "Remove the IP allow-list", update_root_quorum: "Set the root quorum", enable_auth_proxy: "Turn on an authentication proxy",
  update_auth_proxy_config: "Change an authentication proxy", disable_auth_proxy: "Turn off an authentication proxy", create_authenticators: "Add passkeys", delete_authenticators: "Delete passkeys",
  create_oauth_providers: "Add accounts elsewhere", delete_oauth_providers: "Delete accounts elsewhere", create_api_only_users: "Create users with API keys alone", sign_raw_payload: "Sign a payload", sign_raw_payloads: "Sign payloads",
  create_read_write_session: "Start a session", create_read_only_session: "Start a session that only reads", auth_proxy_configs: "Authentication proxies", auth_proxies: "Authentication proxies", authenticators: "Passkeys", exporting: "Exports", importing: "Imports", signing: "Signatures", oauth2_credentials: "OAuth 2.0 credentials",
};

/** An operation, or the last part of a path: create_wallet is "Create wallet". @param {string} name */
export function operationInWords(name) {
  return CALLED[name] ?? sentence(name);
}

/** ACTIVITY_TYPE_SIGN_TRANSACTION_V2 is "Sign transaction". @param {string} type */
export function typeInWords(type) {
  return operationInWords(type.replace(/^ACTIVITY_TYPE_/, "").replace(/_V\d+$/, "").toLowerCase());
}

/** A sentence of the server, with activity types by their names. @param {string} text */
export function withTypesInWords(text) {
  return text.replace(/\bACTIVITY_TYPE_[A-Z0-9_]+/g, (type) => typeInWords(type));
}

/** SOME_NAME is "Some name". @param {string} name */
export function sentence(name) {
  const words = name.toLowerCase().replaceAll("_", " ").replace(/\bsub organization/g, "sub-organization").replace(/\b(api|cidr|ip|otp|id|mfa|url|sms|oidc|uuid|eip|abi|idl)\b/g, (word) => word.toUpperCase());
  return words.replace(/\bemail\b/g, "e-mail").replace(/\ballowlist/g, "allow-list").replace(/\boauth2?\b/g, (word) => (word === "oauth2" ? "OAuth 2.0" : "OAuth")).replace(/^./, (first) => first.toUpperCase());
}

/** A title within a sentence: "Session profiles" is "session profiles", "OAuth 2.0 credentials" stays. @param {string} title */
export function inSentence(title) {
  return /^[A-Z][a-z-]+\b/.test(title) && !/^E-mail/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title;
}

/** walletName is "Wallet name". @param {string} field */
export function fieldInWords(field) {
  return FIELDS[field] ?? sentence(field.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/([^aeiou])y_ids$/i, "$1ies").replace(/_ids?$/i, (end) => (end.endsWith("s") ? "s" : "")).replace(/_seconds$/i, ""));
}

/** @type {Record<string, string>} */
const FIELDS = {
  authenticators: "Passkeys", authenticatorName: "Name of the passkey", authenticatorIds: "Passkeys", oauthProviders: "Accounts elsewhere", cidr: "Network", enabled: "Is enforced", signWith: "Account or key", expirationSeconds: "Expires after",
  receiverUserName: "Name", receiverUserEmail: "E-mail", receiverEmail: "E-mail", receiverUserTags: "Tags", accessType: "Access to", senderUserId: "Invited by", userId: "User", organizationId: "Organization", curveType: "Curve", configId: "Authentication proxy",
  onEvaluationError: "If the address is not known", order: "Place in the order", requiredAuthenticationMethods: "Proofs", any: "One of", allowedOrigins: "Pages that may use it", allowedAuthMethods: "Logins that it offers", replyToEmailAddress: "Reply address",
  sendFromEmailAddress: "Sender’s address", sendFromEmailSenderName: "Sender’s name", encryptedBundle: "Encrypted content", targetPublicKey: "Key to encrypt to", mnemonicLength: "Words of the mnemonic",
};

/** Values of enums, without their prefix, that are not called by their name. @type {Record<string, string>} */
const VALUES = {
  TEXT_UTF8: "Text", HEXADECIMAL: "Hex digits", EIP712: "Typed data (EIP-712)", EIP7702_AUTHORIZATION: "Authorization (EIP-7702)", NO_OP: "None: the payload is a digest", NOT_APPLICABLE: "None: the key hashes itself",
  WEB: "The console", ALL: "The console and the API", INTERNAL: "This device", HYBRID: "A phone nearby", SMS_OTP: "Code by SMS", EMAIL_OTP: "Code by e-mail", OAUTH: "Account elsewhere",
  UNCOMPRESSED: "Public key, uncompressed", COMPRESSED: "Public key, compressed", XLM: "Stellar", OTP_EMAIL_AUTH: "Logins with a code by e-mail", SMS_AUTH: "Logins with a code by SMS",
  EMAIL_AUTH: "Logins with a bundle by e-mail", EMAIL_RECOVERY: "Recovery by e-mail", WEBAUTHN_ORIGINS: "Pages whose passkeys count", PARENT_AUTH: "Logins by the parent", API_KEY_P256: "API key", API_KEY_SECP256K1: "API key (secp256k1)",
  API_KEY_ED25519: "API key (Ed25519)", RECOVER_USER_KEY_P256: "Key of an invitation or recovery", LOGIN: "Session", READ_WRITE_SESSION_KEY_P256: "Session", OTP_AUTH_KEY_P256: "Session", EMAIL_AUTH_KEY_P256: "Session", OAUTH_KEY_P256: "Session",
  WALLET_ACCOUNT_ADDRESS: "Address", USERNAME: "User’s name", BLE: "Bluetooth", ACTIVITY_UPDATES: "Every activity", ENCLAVE_ENCRYPT_V1: "As all bundles",
};
const SPELLED = /** @type {Record<string, string>} */ ({ p256: "P-256", ed25519: "Ed25519", secp256k1: "secp256k1", bip32: "BIP-32", sha256: "SHA-256", keccak256: "Keccak-256", doge: "Dogecoin", ton: "TON", xrp: "XRP", usb: "USB", nfc: "NFC" });
const PROPER = /\b(ethereum|solana|bitcoin|tron|cosmos|sui|aptos|sei|spark|tempo|discord|english|chinese|czech|french|italian|japanese|korean|spanish)\b/g;

/** The last part of an enum's value: EFFECT_ALLOW of Effect is "Allow". @param {string} value @param {string} [prefix] */
export function valueInWords(value, prefix = "") {
  const name = value.startsWith(prefix) ? value.slice(prefix.length) : value;
  if (VALUES[name]) return VALUES[name];
  const words = sentence(name).replace(/\b[a-z]\w*\b/gi, (word) => SPELLED[word.toLowerCase()] ?? (/[a-z]\d/i.test(word) ? word.toUpperCase() : word));
  return words.replace(PROPER, (word) => word[0].toUpperCase() + word.slice(1));
}

const ENUMS = /^(ADDRESS_FORMAT|PATH_FORMAT|API_KEY_CURVE|CURVE|EFFECT|HASH_FUNCTION|PAYLOAD_ENCODING|TRANSACTION_TYPE|CREDENTIAL_TYPE|AUTHENTICATION_TYPE|ACCESS_TYPE|OTP_TYPE|FEATURE_NAME|MNEMONIC_LANGUAGE|SMART_CONTRACT_INTERFACE_TYPE|AUTHENTICATOR_TRANSPORT|INVITATION_STATUS|TAG_TYPE|VOTE_SELECTION|OAUTH2_PROVIDER|TRANSPORT_ENCRYPTION_SUITE|ACTIVITY_STATUS|ACTIVITY_TYPE)_(?=[A-Z])/;

/** A text that may be an enum's value, in words; any other text as it is. @param {string} text */
export function textInWords(text) {
  if (text.startsWith("ACTIVITY_TYPE_")) return typeInWords(text);
  const prefix = ENUMS.exec(text)?.[0];
  return prefix && /^[A-Z0-9_]+$/.test(text) ? valueInWords(text, prefix) : text;
}

const DURATIONS = /** @type {[number, string][]} */ ([[86_400, "day"], [3600, "hour"], [60, "minute"]]);

/** A duration in its greatest unit that is whole: 3600 is "1 hour". @param {number} seconds */
export function durationInWords(seconds) {
  const [size, unit] = DURATIONS.find(([size]) => seconds >= size && seconds % size === 0) ?? [1, "second"];
  return counted(seconds / size, unit);
}

/** Names in a sentence: "Ann, Bo and Cy". @param {string[]} names @param {string} [last] the word before the last */
export function namesInWords(names, last = "and") {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} ${last} ${names.at(-1)}`;
}

/** @type {Record<string, [string, string]>} the word and the kind of badge */
const STATUSES = {
  ACTIVITY_STATUS_COMPLETED: ["Completed", "good"],
  ACTIVITY_STATUS_CONSENSUS_NEEDED: ["Waits for approval", "warn"],
  ACTIVITY_STATUS_AUTHENTICATORS_NEEDED: ["Waits for proofs", "warn"],
  ACTIVITY_STATUS_REJECTED: ["Rejected", "bad"],
  ACTIVITY_STATUS_FAILED: ["Failed", "bad"],
  ACTIVITY_STATUS_PENDING: ["Pending", "accent"],
  ACTIVITY_STATUS_CREATED: ["Created", "accent"],
};
export const WAITING = ["ACTIVITY_STATUS_CONSENSUS_NEEDED", "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"];

/** Whether others must approve it first. @param {{status: string}} activity */
export function isWaiting({ status }) {
  return WAITING.includes(status);
}

/** @param {string} status @returns {{text: string, kind: string}} */
export function statusInWords(status) {
  const [text, kind] = STATUSES[status] ?? [valueInWords(status, "ACTIVITY_STATUS_"), ""];
  return { text, kind };
}
export const ALL_STATUSES = Object.keys(STATUSES);

/** Milliseconds of a time as the API gives it. @param {{seconds: string, nanos: string} | string | undefined} time */
export function msOf(time) {
  if (time === undefined) return 0;
  return typeof time === "string" ? Date.parse(time) : Number(time.seconds) * 1000 + Math.floor(Number(time.nanos) / 1e6);
}

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
/** @type {[number, Intl.RelativeTimeFormatUnit][]} */
const UNITS = [[86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"], [1000, "second"]];

/** @param {number} ms @param {number} nowMs */
export function timeInWords(ms, nowMs) {
  const difference = ms - nowMs;
  if (Math.abs(difference) > 30 * 86_400_000) return new Date(ms).toLocaleDateString("en", { dateStyle: "medium" });
  for (const [size, unit] of UNITS) {
    if (Math.abs(difference) >= size) return RELATIVE.format(Math.round(difference / size), unit);
  }
  return "just now";
}

/** Day and time; the year where it is another. @param {number} ms */
export function dateInWords(ms) {
  const date = new Date(ms);
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: /** @type {const} */ ("numeric") };
  return date.toLocaleString("en", { month: "short", day: "numeric", ...year, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

/** @param {string} text @param {number} [kept] characters at each end */
export function shortened(text, kept = 6) {
  return text.length > 2 * kept + 3 ? `${text.slice(0, kept + 2)}…${text.slice(-kept)}` : text;
}

/** A sentence for a list: the id after a name is left out, other ids and addresses are shortened. @param {string} text */
export function withShortAddresses(text) {
  const named = text.replace(/('[^']*'|"[^"]*") \([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)/g, "$1");
  return named.replace(/\b(\w{32,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g, (word) => shortened(word));
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
