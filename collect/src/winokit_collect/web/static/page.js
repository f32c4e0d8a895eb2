// Small comforts of every page: times in the reader's own zone, buttons that copy, filters that work at once, hints at wide tables.
(function () {
  "use strict";
  // In the page's language; where that is the reader's own, as they have it.
  const own = document.documentElement.lang, reader = navigator.language || own;
  const locale = reader.split("-")[0] === own.split("-")[0] ? reader : own;
  const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" });
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });

  function localTimes(where) {
    where.querySelectorAll("time[datetime]").forEach(function (one) {
      const at = new Date(one.dateTime);
      if (isNaN(at)) return;
      const today = at.toDateString() === new Date().toDateString();
      one.textContent = today ? clock.format(at) : day.format(at) + ", " + clock.format(at);
      one.title = at.toString();
    });
  }

  function copyButtons(where) {
    where.querySelectorAll("button[data-copy]").forEach(function (button) {
      if (!navigator.clipboard) return;
      button.hidden = false;
      button.addEventListener("click", function () {
        const source = document.getElementById(button.dataset.copy);
        navigator.clipboard.writeText(source.value || source.textContent.trim()).then(function () {
          const label = button.textContent;
          button.textContent = button.dataset.copied || "Copied";
          setTimeout(function () { button.textContent = label; }, 1500);
        });
      });
    });
  }

  // On a narrow screen each row is a block of numbers with their names: every cell knows the head of its column. Roles
  // are said, since a row that is no table row any more has none.
  function nameCells(where) {
    where.querySelectorAll("table.plain").forEach(function (table) {
      const heads = Array.from(table.querySelectorAll("thead th")).map(function (head) {
        return head.querySelector(".hidden") ? "" : head.textContent.trim();
      });
      if (!heads.length || table.classList.contains("stacks")) return;
      table.classList.add("stacks");
      table.setAttribute("role", "table");
      table.querySelectorAll("thead, tbody").forEach(function (part) { part.setAttribute("role", "rowgroup"); });
      table.querySelectorAll("tr").forEach(function (row) {
        row.setAttribute("role", "row");
        Array.from(row.cells).forEach(function (cell, place) {
          const head = cell.closest("thead") ? "columnheader" : cell.tagName === "TH" ? "rowheader" : "cell";
          cell.setAttribute("role", head);
          if (head === "cell" && heads[place]) cell.dataset.label = heads[place];
          cell.classList.toggle("blank", head === "cell" && !cell.textContent.trim() && !cell.querySelector("svg, input"));
        });
      });
    });
  }

  // A table that is wider than its place says so.
  function hintAtMore() {
    document.querySelectorAll(".scroll").forEach(function (place) {
      place.classList.toggle("more-aside", place.scrollWidth > place.clientWidth + 1);
    });
  }

  localTimes(document);
  copyButtons(document);
  nameCells(document);
  hintAtMore();
  window.addEventListener("resize", hintAtMore);
  document.addEventListener("htmx:afterSettle", function (event) { localTimes(event.target); nameCells(event.target); hintAtMore(); });
  // A filter works as soon as something is chosen; its button is for those without scripts.
  document.querySelectorAll("form[data-at-once]").forEach(function (form) {
    form.addEventListener("change", function (event) { if (event.target.matches("select")) form.requestSubmit(); });
  });
  document.addEventListener("submit", function (event) {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
})();
