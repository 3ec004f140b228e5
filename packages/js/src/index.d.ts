import type * as declared from "./methods.js";

export type { ActivityStatus, Clock, Faults, RequestSeen, StampSeen } from "./methods.js";
export type { Distance } from "./times.js";

/** With the time when it was written. */
export interface SentMessage extends declared.SentMessage {
  sentAt: Date;
}

/** With the time of the attempt. */
export interface SentWebhook extends Omit<declared.SentWebhook, "sentAtMs"> {
  sentAt: Date;
}

/** What a client needs to call as one user. Keys are hex, the public one compressed P-256. */
export interface Credentials {
  baseUrl: string;
  organizationId: string;
  userId: string;
  apiPublicKey: string;
  apiPrivateKey: string;
  /** The authority that signs the certificate of a server with `--tls`: a file in PEM. */
  caFile?: string;
  /** An authentication proxy of the organization, for pages without a key. */
  authProxyId?: string;
}

export interface Waiting {
  count?: number;
  timeoutMs?: number;
}

/** The messages that the server kept in place of sending them, oldest first. */
export interface Outbox {
  messages(recipient?: string): Promise<SentMessage[]>;
  /** The newest message to a recipient, once there are `count` of them. */
  waitFor(recipient: string, waiting?: Waiting): Promise<SentMessage>;
  /** The code in the newest message to a recipient; see `waitFor`. */
  code(recipient: string, waiting?: Waiting): Promise<string>;
}

/** The webhooks that the server sent lately, oldest first. */
export interface Webhooks {
  sent(endpointId?: string): Promise<SentWebhook[]>;
  /** The newest attempt with an event of an activity, once there are `count` of them. */
  waitFor(activityId: string, waiting?: Waiting): Promise<SentWebhook>;
}

/** The developer's controls of a server. Every method rejects with KeysteadError if the server refuses. */
export interface DevControls extends declared.Methods {}

export class DevControls {
  constructor(baseUrl: string, options?: { caFile?: string });
  readonly baseUrl: string;
  readonly clock: declared.Clock;
  readonly faults: declared.Faults;
  readonly outbox: Outbox;
  readonly webhooks: Webhooks;
  /** An organization of one's own, in a few milliseconds. `wallet`: with the wallet "Development". */
  newOrganization(options?: { name?: string; wallet?: boolean }): Promise<Credentials>;
}

/** A server that `start` started. */
export interface Server extends DevControls {
  readonly credentials: Credentials;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface StartOptions {
  /** The command and its first arguments; else KEYSTEAD_COMMAND, `keystead` on PATH, or `uvx keystead`. */
  command?: string[];
  /** More options of `keystead dev`, such as `--tls`. */
  args?: string[];
  /** Derives every identifier and key from this text. */
  seed?: string;
  /** 60,000 if not given: `uvx` may have to install it first. */
  startTimeoutMs?: number;
  /** Environment variables for the server, beside those of this process. */
  env?: Record<string, string>;
}

/** Starts `keystead dev --memory` on a free port. It ends with this process at the latest. */
export function start(options?: StartOptions): Promise<Server>;

/** The controls of a server that runs already. */
export function connect(baseUrl: string, options?: { caFile?: string }): DevControls;

export class KeysteadError extends Error {
  /** The HTTP status, where there was an answer. */
  readonly status?: number;
}
