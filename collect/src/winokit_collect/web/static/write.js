// The writing desk: buttons that save typing, answers named as their writer names them, and a draft kept to the last.
(function () {
  "use strict";
  const form = document.getElementById("twins");
  const field = function (name) { return form.elements[name]; };
  const tell = function (input) { input.dispatchEvent(new Event("input", { bubbles: true })); };

  // Words of the topic, to be pressed.
  form.querySelectorAll("[data-fills]").forEach(function (chips) {
    const input = field(chips.dataset.fills);
    const show = function () {
      chips.querySelectorAll("button").forEach(function (chip) {
        chip.setAttribute("aria-pressed", String(chip.value === input.value.trim()));
      });
    };
    chips.hidden = false;
    chips.addEventListener("click", function (event) {
      if (!event.target.matches("button")) return;
      input.value = event.target.value;
      show();
      tell(input);
    });
    input.addEventListener("input", show);
    show();
  });

  // The blank, and the first sentence to begin the second one with.
  form.querySelectorAll(".tools").forEach(function (tools) { tools.hidden = false; });
  form.querySelectorAll("[data-blank]").forEach(function (button) {
    button.addEventListener("click", function () {
      const text = field(button.dataset.blank);
      text.setRangeText("_", text.selectionStart, text.selectionEnd, "end");
      text.focus();
      tell(text);
    });
  });
  form.querySelector("[data-copy-first]").addEventListener("click", function (event) {
    const second = field("second");
    if (second.value.trim() && !window.confirm(event.target.dataset.copyFirst)) return;
    second.value = field("first").value;
    second.focus();
    tell(second);
    grow(second);
  });

  // The two, by the names their writer gives them.
  ["1", "2"].forEach(function (number) {
    const input = field("candidate_" + number);
    const show = function () {
      form.querySelectorAll('[data-candidate="' + number + '"]').forEach(function (label) {
        label.textContent = input.value.trim() || label.dataset.otherwise;
      });
    };
    input.addEventListener("input", show);
    show();
  });

  // Twins have opposite answers: the other one follows from the first that is chosen.
  form.addEventListener("change", function (event) {
    const other = { answer_1: "answer_2", answer_2: "answer_1" }[event.target.name];
    if (other && !field(other).value) field(other).value = event.target.value === "1" ? "2" : "1";
  });

  // What was missing when the form was sent is old news once nothing is.
  document.addEventListener("htmx:afterSettle", function (event) {
    const missing = form.querySelector(".summary");
    if (missing && event.target.id === "feedback" && event.target.querySelector("[data-ready]")) missing.remove();
  });

  function grow(text) {
    text.rows = 3;
    while (text.rows < 12 && text.scrollHeight > text.clientHeight) text.rows += 1;
  }
  form.querySelectorAll("textarea").forEach(function (text) {
    text.addEventListener("input", function () { grow(text); });
    grow(text);
  });

  // A draft is saved as one types, and once more when the page goes away.
  let unsaved = false, leaving = false;
  const saved = document.getElementById("saved");
  form.addEventListener("input", function () { unsaved = true; });
  form.addEventListener("change", function () { unsaved = true; });
  form.addEventListener("submit", function () { leaving = true; });
  document.getElementById("skip")?.addEventListener("submit", function (event) {
    const typed = field("first").value.trim() || field("second").value.trim();
    if (typed && !window.confirm(event.target.dataset.skip)) event.preventDefault();
    else leaving = true;
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    if (!saved || event.target !== saved) return;
    if (event.detail.successful) unsaved = false;
    else saved.textContent = saved.dataset.notSaved;
  });
  // What was typed before this script came, or put back by the browser, is as good as typed now.
  document.addEventListener("htmx:load", function () {
    const typed = Array.from(form.elements).find(function (one) {
      return one.type === "radio" ? one.checked !== one.defaultChecked : "defaultValue" in one && one.value !== one.defaultValue;
    });
    if (typed) tell(typed);
  }, { once: true });
  function saveNow() {
    if (!unsaved || leaving || !saved) return;
    if (navigator.sendBeacon(form.dataset.task + "/draft", new URLSearchParams(new FormData(form)))) unsaved = false;
  }
  window.addEventListener("pagehide", saveNow);
  document.addEventListener("visibilitychange", function () { if (document.visibilityState === "hidden") saveNow(); });
})();
