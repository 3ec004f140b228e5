// One stamped request over HTTP, and the error that a refusal becomes. Not here: whose key stamps (session/).

/** A refusal of the server. `message` is the server's sentence. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {{message?: string}} answer
   */
  constructor(status, answer) {
    super(answer.message ?? `the server answered ${status}`);
    this.name = "Refused";
    this.status = status;
  }
}

/**
 * Sends the exact bytes that were stamped.
 * @param {string} path
 * @param {string} body
 * @param {Record<string, string>} stamp
 * @returns {Promise<any>}
 */
export async function send(path, body, stamp) {
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/json", "X-Client-Version": "keystead-console", ...stamp },
    });
  } catch {
    throw new Error("the server does not answer: is it running?");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, content);
  return content;
}
