/** What a client needs to call as one user. Keys are hex, the public one compressed P-256. */
export interface Credentials {
  baseUrl: string;
  organizationId: string;
  userId: string;
  apiPublicKey: string;
  apiPrivateKey: string;
  /** The authority that signs the certificate of a server with `--tls`: a file in PEM. */
  caFile?: string;
}

/** A message that the server kept in place of sending it. `secret`: the code or credential bundle in its text. */
export interface SentMessage {
  id: string;
  sentAt: Date;
  channel: "email" | "sms";
  recipient: string;
  text: string;
  subject?: string;
  secret?: string;
}

export interface StampSeen {
  header: string;
  problem?: string;
  scheme?: string;
  publicKey?: string;
  signature?: string;
  credentialId?: string;
  clientData?: string;
}

/** A request that the server got. `status` 0: the connection was cut. `reason`: the message of a refusal. */
export interface RequestSeen {
  number: number;
  atMs: number;
  ms: number;
  requestId: string;
  method: string;
  path: string;
  operation: string;
  organizationId: string;
  stamps: StampSeen[];
  body: string;
  status: number;
  reason: string;
  answer: string;
  fault: boolean;
}

export type ActivityStatus =
  | "ACTIVITY_STATUS_CREATED"
  | "ACTIVITY_STATUS_PENDING"
  | "ACTIVITY_STATUS_COMPLETED"
  | "ACTIVITY_STATUS_FAILED"
  | "ACTIVITY_STATUS_CONSENSUS_NEEDED"
  | "ACTIVITY_STATUS_REJECTED"
  | "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED";

export interface Distance {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
}

/** The clock of the whole server. Each change answers the time that the clock shows then. */
export interface Clock {
  now(): Promise<Date>;
  isFrozen(): Promise<boolean>;
  set(moment: Date): Promise<Date>;
  /** Moves the time on; back where negative. */
  advance(distance: Distance): Promise<Date>;
  /** Stops the clock, now or at a moment. */
  freeze(moment?: Date): Promise<Date>;
  /** Lets a frozen clock run on from where it stands. */
  resume(): Promise<Date>;
  /** Back to the machine's time. */
  reset(): Promise<Date>;
  /** Whether a submission's `timestampMs` may be near the machine's time while the clock is elsewhere (it may). */
  acceptSystemTime(accepted: boolean): Promise<Date>;
}

/** `count`: how many of the next requests. `path`: only requests whose path contains this text, as in create_wallet. */
export interface Which {
  count?: number;
  path?: string;
}

/** Requests that fail by choice. */
export interface Faults {
  /** Answers with this HTTP status, 400 to 599, in place of what was asked for; 503 if not given. */
  fail(status?: number, which?: Which): Promise<void>;
  /** Closes the connection without an answer. */
  cut(which?: Which): Promise<void>;
  /** Answers as usual, so much later. */
  slow(delayMs: number, which?: Which): Promise<void>;
  clear(): Promise<void>;
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

/** An attempt to deliver a webhook. `body`: the JSON that was sent. `status`: of the answer, 0 if there was none. */
export interface SentWebhook {
  sentAt: Date;
  endpointId: string;
  /** Of the endpoint. */
  organizationId: string;
  url: string;
  headers: Record<string, string>;
  body: string;
  /** `refused`: a final answer; `later`: another attempt follows. */
  verdict: "accepted" | "refused" | "later";
  status: number;
  reason: string;
}

/** The webhooks that the server sent lately, oldest first. */
export interface Webhooks {
  sent(endpointId?: string): Promise<SentWebhook[]>;
  /** The newest attempt with an event of an activity, once there are `count` of them. */
  waitFor(activityId: string, waiting?: Waiting): Promise<SentWebhook>;
}

/** The developer's controls of a server. Every method rejects with KeysteadError if the server refuses. */
export class DevControls {
  constructor(baseUrl: string, options?: { caFile?: string });
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly outbox: Outbox;
  readonly webhooks: Webhooks;
  /** An organization of one's own, in a few milliseconds. `wallet`: with the wallet "Development". */
  newOrganization(options?: { name?: string; wallet?: boolean }): Promise<Credentials>;
  /** The next activities of a type, as ACTIVITY_TYPE_CREATE_WALLET, end in this status, whatever is decided. */
  nextOutcome(type: string, status: ActivityStatus, options?: { count?: number }): Promise<void>;
  clearOutcomes(): Promise<void>;
  /** The server answers `perSecond` requests a second, and refuses the others with 429. 0: no limit. */
  limitRate(perSecond: number): Promise<void>;
  /** The requests that came lately, oldest first; at most 200. */
  requests(): Promise<RequestSeen[]>;
  forgetRequests(): Promise<void>;
  snapshot(name: string): Promise<void>;
  snapshots(): Promise<string[]>;
  restore(name: string): Promise<void>;
  /** Everything as it was when the server started; or one organization with its sub-organizations. */
  reset(organizationId?: string): Promise<void>;
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
