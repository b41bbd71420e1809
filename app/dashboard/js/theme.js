// Light or dark, before anything is drawn: a plain script, since modules run late.
// What is printed is light, with black ink on white: `data-print` is set meanwhile.
// `umbel.theme` in localStorage is "light" or "dark"; without it the system's preference is followed.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem("umbel.theme");
    } catch {
      return null;
    }
  };
  const root = document.documentElement;
  /** @param {boolean} isPrinted */
  const show = (isPrinted) => {
    const wanted = isPrinted ? "light" : (stored() ?? (system.matches ? "dark" : "light"));
    if (root.dataset.theme === wanted && root.hasAttribute("data-print") === isPrinted) return;
    root.dataset.theme = wanted;
    root.toggleAttribute("data-print", isPrinted);
    dispatchEvent(new CustomEvent("themechange", { detail: wanted }));
  };
  const apply = () => show(root.hasAttribute("data-print"));
  apply();
  addEventListener("beforeprint", () => show(true));
  addEventListener("afterprint", () => show(false));
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  addEventListener("themewish", (event) => {
    const { detail: theme } = /** @type {CustomEvent<string | null>} */ (event);
    try {
      if (theme === null) localStorage.removeItem("umbel.theme");
      else localStorage.setItem("umbel.theme", theme);
    } catch {
      root.dataset.theme = theme ?? "light";
    }
    apply();
  });
})();
