// Dark or light: what the system prefers, unless the reader chose; the choice is remembered in this browser.

const KEY = "linkedbandits-theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export const isDark = () => (localStorage.getItem(KEY) ?? (systemDark.matches ? "dark" : "light")) === "dark";

export function toggleTheme() {
  localStorage.setItem(KEY, isDark() ? "light" : "dark");
  apply();
}

/** Call the listener whenever the theme changes. Returns how to stop that. */
export function onThemeChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function apply() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const listener of listeners) listener();
}

systemDark.addEventListener("change", apply);
apply();
