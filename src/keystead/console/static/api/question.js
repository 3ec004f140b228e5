// One question to the person before a submission is sent. Not here: when it is asked (`calls`), how it looks (`lockout`).
import { signal } from "../vendor/preact.js";

/** The question that waits for an answer. @type {import("../vendor/preact.js").Signal<{refusal: string, answer: (isYes: boolean) => void} | null>} */
export const lockoutQuestion = signal(null);

/** Whether the person wants to be locked out. @param {string} refusal @returns {Promise<boolean>} */
export const askAboutLockout = (refusal) => new Promise((resolve) => {
  lockoutQuestion.value = {
    refusal,
    answer: (isYes) => {
      lockoutQuestion.value = null;
      resolve(isYes);
    },
  };
});
