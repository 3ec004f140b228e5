// The developer's controls of `keystead dev`. Other servers do not have them.

/** @param {string} name @returns {Promise<any>} */
export async function control(name) {
  return answered(await fetch(`/dev/v1/${name}`));
}

/** @param {string} name @param {Record<string, unknown>} change @returns {Promise<any>} */
export async function change(name, change) {
  const headers = { "Content-Type": "application/json", "X-Keystead-Dev": "1" };
  return answered(await fetch(`/dev/v1/${name}`, { method: "POST", headers, body: JSON.stringify(change) }));
}

/** @param {Response} answer */
async function answered(answer) {
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(content.message ?? `the server answered ${answer.status}`);
  return content;
}
