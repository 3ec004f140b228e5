// The types of the developer's controls. Made by `make generate` from keystead.api.developer_controls. Do not edit.

import type { Distance } from "./times.js";

export type ActivityStatus =
  | "ACTIVITY_STATUS_CREATED"
  | "ACTIVITY_STATUS_PENDING"
  | "ACTIVITY_STATUS_COMPLETED"
  | "ACTIVITY_STATUS_FAILED"
  | "ACTIVITY_STATUS_CONSENSUS_NEEDED"
  | "ACTIVITY_STATUS_REJECTED"
  | "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED";

/**
 * A message as its recipient would have got it. `channel`: log for a message that only the log gets. `secret`: the
 * code or the credential bundle in its text.
 */
export interface SentMessage {
  id: string;
  channel: "email" | "sms" | "log";
  recipient: string;
  text: string;
  subject?: string;
  secret?: string;
}

/**
 * A stamp header. `header`: its name. `problem`: why it cannot be read; then the other members are absent.
 * `publicKey`: lower-case hex. `credentialId`, of a passkey: base64url. `clientData`, of a passkey: the JSON text
 * that it signed.
 */
export interface StampSeen {
  header: string;
  problem?: string;
  scheme?: string;
  publicKey?: string;
  signature?: string;
  credentialId?: string;
  clientData?: string;
}

/**
 * A request that the server got. `atMs`: milliseconds since the epoch, by its clock. `operation`: such as
 * create_wallet; "" if the path has no operation. `reason`: the message of a refusal. `status` 0: the connection
 * was cut. `fault`: a developer chose this answer. `body` and `answer` are text, cut after 16 KiB. `form`: `sdk`
 * or `documented`; "" for a refusal.
 */
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
  form: string;
}

/**
 * An attempt to deliver an event. `sentAtMs`: milliseconds since the epoch. `body`: the JSON that was sent.
 * `organizationId`: of the endpoint. `verdict`: accepted, refused (a final answer), later (another attempt
 * follows), or defect (this server failed). `status`: of the answer, 0 if there was none; then `reason` says why.
 */
export interface SentWebhook {
  sentAtMs: number;
  endpointId: string;
  organizationId: string;
  url: string;
  headers: Record<string, string>;
  body: string;
  verdict: "accepted" | "refused" | "later" | "defect";
  status: number;
  reason: string;
}

/** The clock of the whole server. Each change returns the time that the clock shows then. */
export interface Clock {
  /** The server's time. */
  now(): Promise<Date>;
  /** Whether the clock is stopped. */
  isFrozen(): Promise<boolean>;
  /** Set the time. The clock continues from there unless it is frozen. */
  set(moment: Date): Promise<Date>;
  /** Move the clock forwards by the sum, or backwards if it is negative. */
  advance(distance: Distance): Promise<Date>;
  /** Stop the clock, at its present time or at `moment`. */
  freeze(moment?: Date): Promise<Date>;
  /** Start a frozen clock again, from the time that it shows. */
  resume(): Promise<Date>;
  /** Set the clock to the system's time. */
  reset(): Promise<Date>;
  /**
   * Choose whether a submission's `timestampMs` may be near the system's time while the clock shows another. At
   * the start it may, because published clients use the system's time.
   */
  acceptSystemTime(accepted: boolean): Promise<Date>;
}

/** Makes requests fail on purpose: the next `count` requests whose path contains `path`. */
export interface Faults {
  /** Answer with this HTTP status, 400 to 599, instead of executing the request. */
  fail(status?: number, options?: { count?: number; path?: string }): Promise<void>;
  /** Close the connection without an answer. */
  cut(options?: { count?: number; path?: string }): Promise<void>;
  /** Answer as usual, after a delay. */
  slow(delayMs: number, options?: { count?: number; path?: string }): Promise<void>;
  /** Remove all faults. */
  clear(): Promise<void>;
}

/** The methods of the controls themselves. */
export interface Methods {
  /**
   * The next `count` activities of a type end in this status, regardless of policies and votes. The type: any
   * version of it, for example ACTIVITY_TYPE_CREATE_WALLET.
   */
  nextOutcome(activityType: string, status: ActivityStatus, options?: { count?: number }): Promise<void>;
  /** Remove the statuses that were chosen and that no activity has got yet. */
  clearOutcomes(): Promise<void>;
  /**
   * Answer at most this number of requests per second, of all callers together; refuse the others with 429. 0: no
   * limit.
   */
  limitRate(perSecond: number): Promise<void>;
  /** The last requests, at most 200, oldest first. */
  requests(): Promise<RequestSeen[]>;
  /** Empty the list of requests. */
  forgetRequests(): Promise<void>;
  /** Take a snapshot of everything that is stored, and keep it under this name. */
  snapshot(name: string): Promise<void>;
  /** The names of the snapshots. */
  snapshots(): Promise<string[]>;
  /** Restore everything that was stored when the snapshot was taken. */
  restore(name: string): Promise<void>;
  /**
   * Restore everything that was stored when the server started, or only one organization with its
   * sub-organizations.
   */
  reset(organizationId?: string): Promise<void>;
}
