// A session that is about to end, and the button that begins a further one.
import { html, useState } from "./vendor/preact.js";
import { useRepeated } from "./parts/loaded.js";
import { Notice, messageOf } from "./parts/notice.js";
import { prolong, session } from "./session/session.js";
import { counted } from "./words.js";

const TOLD_BEFORE_MS = 180_000;
const EVERY_MS = 10_000;

export function SessionEnd() {
  const [nowMs, setNow] = useState(Date.now());
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  useRepeated(() => setNow(Date.now()), EVERY_MS, []);
  const endsMs = session.value?.expiresAtMs;
  if (!endsMs || endsMs - nowMs > TOLD_BEFORE_MS) return null;
  const stay = async () => {
    setBusy(true);
    setProblem("");
    await prolong().catch((error) => setProblem(messageOf(error)));
    setBusy(false);
  };
  return html`<${Notice} kind="warn"><div class="row spread">
    <span>This session ends in ${counted(Math.max(1, Math.round((endsMs - nowMs) / 60_000)), "minute")}. ${problem}</span>
    <button type="button" class="button" disabled=${isBusy} onClick=${stay}>Stay logged in</button></div><//>`;
}
