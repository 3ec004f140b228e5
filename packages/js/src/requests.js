// Requests to the developer's controls, /dev/v1 of a development server. By node:http and node:https: no proxy of the
// environment and no replacement of `fetch` in a test stands between.

import { readFileSync } from "node:fs";
import { request as overHttp } from "node:http";
import { request as overHttps } from "node:https";

const TIMEOUT_MS = 10_000;

/** What a server refused, or why it could not be asked. `status` is the HTTP status, where there was an answer. */
export class KeysteadError extends Error {
  constructor(message, status) {
    super(message);
    this.name = "KeysteadError";
    this.status = status;
  }
}

export class Controls {
  #baseUrl;
  #ca;

  // `caFile`: of the credentials of a server with `--tls`.
  constructor(baseUrl, caFile) {
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#ca = caFile === undefined ? undefined : readFileSync(caFile);
  }

  get baseUrl() {
    return this.#baseUrl;
  }

  read(control) {
    return this.#send("GET", control);
  }

  change(control, change) {
    return this.#send("POST", control, JSON.stringify(change));
  }

  #send(method, control, body = "") {
    const url = new URL(`${this.#baseUrl}/dev/v1/${control}`);
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "x-keystead-dev": "1",
    };
    const request = url.protocol === "https:" ? overHttps : overHttp;
    return new Promise((resolve, reject) => {
      const asked = request(url, { method, headers, ca: this.#ca, timeout: TIMEOUT_MS }, (answer) => {
        const chunks = [];
        answer.on("data", (chunk) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => {
          try {
            resolve(read(answer.statusCode, Buffer.concat(chunks).toString(), url));
          } catch (refused) {
            reject(refused);
          }
        });
      });
      asked.on("timeout", () => asked.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
      asked.on("error", (failed) => {
        reject(new KeysteadError(`${url}: ${failed.message}: is keystead dev running?`));
      });
      asked.end(body);
    });
  }
}

function read(status, text, url) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new KeysteadError(`${url} answered ${status}, and not with JSON: it is not a development server`, status);
  }
  if (status !== 200) {
    throw new KeysteadError(answer.message ?? `${url} answered ${status}`, status);
  }
  return answer;
}
