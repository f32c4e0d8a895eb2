// Decisions by keyboard: each key presses the button, or follows the link, that names it. Fields keep their keys.
(function () {
  "use strict";
  document.addEventListener("keydown", function (event) {
    const at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (at.matches("textarea, select, input") || at.isContentEditable) return;
    const wanted = document.querySelector("[data-key='" + CSS.escape(event.key.toLowerCase()) + "']");
    if (wanted) { event.preventDefault(); wanted.click(); }
  });
})();
