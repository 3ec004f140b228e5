// Light or dark: the browser's choice, until the person makes one.
import { signal } from "./vendor/preact.js";

/** @type {import("./vendor/preact.js").Signal<"light" | "dark">} */
export const theme = signal(initial());
apply();

function initial() {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function switchTheme() {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem("theme", theme.value);
  apply();
}

function apply() {
  document.documentElement.dataset.theme = theme.value;
}
