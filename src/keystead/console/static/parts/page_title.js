// The title of the tab: what waits for the person, then the screen.
import { effect, signal } from "../vendor/preact.js";
import { waitingForMe } from "../api/waiting.js";

/** The heading of the screen; "" for none. */
export const pageTitle = signal("");

effect(() => {
  const count = waitingForMe.value;
  document.title = `${count ? `(${count}) ` : ""}${pageTitle.value ? `${pageTitle.value} – ` : ""}Keystead`;
});
