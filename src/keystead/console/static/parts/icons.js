// Small drawings, each one path of strokes on a 16 by 16 grid. They are decoration: the text beside them says it.
import { html } from "../vendor/preact.js";

const PATHS = {
  activity: "M1.5 8h3L6.5 3l3 10 2-5h3",
  policy: "M8 1.5 13.5 3.5v4.5c0 3.5-2.5 5.5-5.5 6.5-3-1-5.5-3-5.5-6.5V3.5zM5.5 8l2 2 3.5-3.5",
  user: "M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8M2.5 14c.4-2.6 2.6-4 5.5-4s5.1 1.4 5.5 4",
  wallet: "M2 4.5h11v9H2zM2 4.5 10.5 2v2.5M10 9h.01",
  key: "M9.5 6.5a3 3 0 1 0-2.9 3L8 11h2v1.5h1.5V14H14v-2.5z",
  contract: "M4 1.5h5.5L13 5v9.5H4zM9.5 1.5V5H13M6.5 8.5h4M6.5 11h4",
  organization: "M2 14h12M3.5 14V3h6v11M9.5 7h3.5v7M5.5 5.5h2M5.5 8h2M5.5 10.5h2",
  layers: "M8 1.5 14.5 5 8 8.5 1.5 5zM1.5 8 8 11.5 14.5 8M1.5 11 8 14.5 14.5 11",
  bolt: "M9 1.5 3 9h4.5L7 14.5 13 7H8.5z",
  tools: "M2.5 13.5 8 8M9.5 2.2a3.7 3.7 0 0 0 4.4 4.4l-2.6.9-2.7-2.7zM4 2l2.5 2.5",
  sun: "M8 10.75a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  logout: "M6 2H2.5v12H6M10 11l3-3-3-3M13 8H6",
  login: "M10 2h3.5v12H10M6 11l3-3-3-3M9 8H2",
  mail: "M2 3.5h12v9H2zM2 4.5l6 4.5 6-4.5",
  audit: "M3 2h10v12H3zM5.5 5h5M5.5 8h5M5.5 11h2.5",
  list: "M2 4h.01M2 8h.01M2 12h.01M5 4h9M5 8h9M5 12h9",
  clock: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M8 4.5V8l2.5 1.5",
  menu: "M2 4h12M2 8h12M2 12h12",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  done: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  warn: "M8 2 15 14H1zM8 6.5v3.5M8 12h.01",
  info: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M8 7.5V11M8 5h.01",
  plus: "M8 3v10M3 8h10",
  passkey: "M6 7.5A2.5 2.5 0 1 0 6 2.5a2.5 2.5 0 0 0 0 5M1.5 13.5c.3-2.4 2.1-3.7 4.5-3.7 1 0 1.9.2 2.6.6M12 11v3.5l1-1M12 11a2 2 0 1 0 0-4 2 2 0 0 0 0 4",
  file: "M4 1.5h5.5L13 5v9.5H4zM9.5 1.5V5H13M8.5 12V7.5M6.5 9.5l2-2 2 2",
  search: "M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10M10.5 10.5 14 14",
  qr: "M2 2h4v4H2zM10 2h4v4h-4zM2 10h4v4H2zM10 10h1.5v1.5M14 10v4h-4",
  bell: "M8 2a4 4 0 0 0-4 4c0 4-1.5 5-1.5 5h11S12 10 12 6a4 4 0 0 0-4-4M6.8 13.5a1.3 1.3 0 0 0 2.4 0",
  sign: "M2 13.5h12M3 10.5l7-7 2.5 2.5-7 7H3z",
  chart: "M2 2v12h12M5 11V8M8 11V5M11 11V7",
};

/** @param {{name: keyof typeof PATHS}} properties */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4"
    stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

/** @typedef {keyof typeof PATHS} IconName */
