// What a development server kept in place of sending it.
const { KEYSTEAD_BASE_URL } = process.env;

/** The code in the newest message to `contact`, once there are `count` of them. */
export async function codeFor(contact, count = 1) {
  for (;;) {
    const { messages } = await (await fetch(`${KEYSTEAD_BASE_URL}/dev/v1/outbox`)).json();
    const sent = messages.map(({ message }) => message).filter(({ recipient }) => recipient === contact);
    if (sent.length >= count) return sent.at(-1).secret;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
