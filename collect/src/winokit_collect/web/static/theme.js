// Follows the reader's system until the button is pressed; a choice is kept in this browser.
(function () {
  "use strict";
  const root = document.documentElement;
  function kept(value) {
    try {
      if (value === undefined) return localStorage.getItem("winokit-theme");
      localStorage.setItem("winokit-theme", value);
    } catch (error) { /* private windows may have no storage */ }
    return null;
  }
  const chosen = kept();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  document.addEventListener("DOMContentLoaded", function () {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", function () {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      kept(root.dataset.theme);
    });
  });
})();
