// Tells the study when text was pasted and when the page was left: both help to notice work that is not a person's own.
(function () {
  "use strict";
  const form = document.querySelector("form[data-task]");
  if (!form) return;
  let waiting = [], leftAt = null;

  function send() {
    if (!waiting.length) return;
    const body = new URLSearchParams({ csrf: form.elements.csrf.value, events: JSON.stringify(waiting.splice(0, 50)) });
    navigator.sendBeacon(form.dataset.task + "/signals", body);
  }

  form.addEventListener("paste", function (event) {
    const text = event.clipboardData ? event.clipboardData.getData("text") : "";
    waiting.push({ kind: "paste", amount: text.length });
    send();
  });
  document.addEventListener("visibilitychange", function () {
    if (document.visibilityState === "hidden") {
      leftAt = Date.now();
      waiting.push({ kind: "leave", amount: 0 });
    } else if (leftAt !== null) {
      waiting.push({ kind: "return", amount: Math.round((Date.now() - leftAt) / 1000) });
      leftAt = null;
    }
    send();
  });
})();
