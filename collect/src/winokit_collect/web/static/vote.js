// Votes by keyboard: 1, 2 … answer the question at hand, space sends what is complete. Fields to type in keep their keys.
(function () {
  "use strict";
  const form = document.querySelector("form.ballot");
  const questions = Array.from(form.querySelectorAll("fieldset[data-keys]"));
  const hint = form.querySelector(".keys"), said = form.querySelector("[data-chosen]");
  const send = form.querySelector(".send button[type=submit]");
  let on = true;
  try { on = localStorage.getItem("winokit-keys") !== "off"; } catch (error) { /* private windows may have no storage */ }

  const answered = function (question) { return question.querySelector("input:checked"); };
  // The question that a key answers: the one that has the focus, or the first without an answer.
  function atHand() {
    const focused = document.activeElement.closest("fieldset[data-keys]");
    return focused || questions.find(function (one) { return !answered(one); }) || questions[questions.length - 1];
  }
  function show() {
    form.querySelectorAll("kbd").forEach(function (key) { key.hidden = !on; });
    questions.forEach(function (one) { one.toggleAttribute("data-at-hand", on && one === atHand()); });
    const button = hint.querySelector("button");
    hint.hidden = false;
    hint.firstElementChild.hidden = !on;
    button.textContent = on ? hint.dataset.off : hint.dataset.on;
    button.setAttribute("aria-pressed", String(on));
  }
  function choose(question, input) {
    input.checked = true;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    said.textContent = said.dataset.chosen + " " + input.parentElement.querySelector("span").textContent;
    const next = questions[questions.indexOf(question) + 1];
    (next ? answered(next) || next.querySelector("input") : send).focus();
  }

  document.addEventListener("keydown", function (event) {
    const at = event.target;
    if (!on || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (at.matches("textarea, select, input:not([type=radio])") || at.isContentEditable) return;
    if (/^[1-9]$/.test(event.key)) {
      const question = atHand(), input = question.querySelectorAll("input")[event.key - 1];
      if (input) { event.preventDefault(); choose(question, input); }
    } else if (event.key === " " && !at.matches("button, a, summary") && !at.closest(".remark") && questions.every(answered)) {
      event.preventDefault();
      form.requestSubmit(send);
    }
  });
  form.addEventListener("focusin", show);
  form.addEventListener("change", show);
  hint.querySelector("button").addEventListener("click", function () {
    on = !on;
    try { localStorage.setItem("winokit-keys", on ? "on" : "off"); } catch (error) { /* as above */ }
    show();
  });
  show();
})();
