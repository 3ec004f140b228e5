// What a developer may do about a request that was refused, by its status and its stamps. Pure.

/** @param {{status: number, reason: string, path: string, operation: string, stamps: {problem: string}[], fault: boolean}} request @returns {string} "" where the reason says it */
export function suggestionFor({ status, reason, path, operation, stamps, fault }) {
  if (fault) return "A fault or a rate limit that you set caused this failure. To end it, POST {\"clear\": true} to /dev/v1/faults, or {\"perSecond\": 0} to /dev/v1/rate-limit.";
  if (status === 401 && !stamps.length) return "Stamp the request: sign the bytes of the body with an API key and send the stamp in X-Stamp. Clients and “keystead request” do this.";
  if (status === 401 && stamps.some(({ problem }) => problem)) return "Write the stamp again: base64url of a JSON object with publicKey, scheme and signature.";
  if (status === 401 && /public key|credential/i.test(reason)) return "Use a key of this organization: compare organizationId in the body and the public key with the keys on the user’s page. A key may have expired, or been deleted.";
  if (status === 401) return "Stamp exactly the bytes that are sent: the stamp is over another body, or the body was changed after it was stamped.";
  if (status === 403) return "Open the decision to see the outcome of each policy. Then change a policy, or let a member of the root quorum submit the request or approve its activity.";
  if (status === 400) return operation ? "Compare the body with the operation’s schema: the form in this console sends what the server accepts." : "";
  if (status === 404 && !operation && path.startsWith("/public/")) return "There is no such path: /openapi.json lists all paths.";
  if (status === 404) return "It is not in the organization that organizationId names: compare both ids.";
  if (status === 405) return "Send it as POST.";
  return "";
}
