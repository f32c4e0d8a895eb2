// Follows the reader's system until the button is pressed; a choice is kept where the browser lets a file keep one.
(function () {
  "use strict";
  var root = document.documentElement;
  function stored(value) {
    try {
      if (value === undefined) return window.localStorage.getItem("winokit-theme");
      window.localStorage.setItem("winokit-theme", value);
    } catch (error) { /* private windows and some file: pages have no storage */ }
    return null;
  }
  var chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  document.addEventListener("DOMContentLoaded", function () {
    var button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", function () {
      var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      stored(root.dataset.theme);
    });
  });
  // Paper has no disclosure triangles.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });
})();
