// Light or dark, before anything is drawn: a plain script, since modules run late.
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
  const apply = () => {
    const wanted = stored() ?? (system.matches ? "dark" : "light");
    if (document.documentElement.dataset.theme === wanted) return;
    document.documentElement.dataset.theme = wanted;
    dispatchEvent(new CustomEvent("themechange", { detail: wanted }));
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  addEventListener("themewish", (event) => {
    const { detail: theme } = /** @type {CustomEvent<string | null>} */ (event);
    try {
      if (theme === null) localStorage.removeItem("umbel.theme");
      else localStorage.setItem("umbel.theme", theme);
    } catch {
      document.documentElement.dataset.theme = theme ?? "light";
    }
    apply();
  });
})();
