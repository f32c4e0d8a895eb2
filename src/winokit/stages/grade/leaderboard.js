(function () {
  "use strict";
  var table = document.getElementById("board");
  if (!table) return;
  var body = table.tBodies[0];
  var choice = document.getElementById("order");

  function key(row, column) {
    var cell = row.cells[column];
    var value = cell.getAttribute("data-value");
    if (value === null) return cell.textContent.trim().toLowerCase();
    return value === "" ? null : Number(value);
  }

  function sort(column, down) {
    var rows = Array.prototype.map.call(body.rows, function (row, place) { return [key(row, column), place, row]; });
    rows.sort(function (a, b) {
      if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null) || a[1] - b[1];
      if (a[0] === b[0]) return a[1] - b[1];
      return (a[0] < b[0]) === down ? 1 : -1;
    });
    rows.forEach(function (row) { body.appendChild(row[2]); });
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, place) {
      if (place === column) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    if (choice) choice.value = String(column);
  }

  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, column) {
    var button = cell.querySelector("button");
    if (!button) return;
    var numbers = cell.classList.contains("num") && !cell.classList.contains("rank");
    button.addEventListener("click", function () {
      var now = cell.getAttribute("aria-sort");
      sort(column, now ? now === "ascending" : numbers);
    });
    if (choice) choice.append(new Option(button.textContent.trim(), String(column)));
  });
  if (choice) {
    choice.parentElement.hidden = false;
    choice.addEventListener("change", function () {
      var cell = table.tHead.rows[0].cells[Number(choice.value)];
      sort(Number(choice.value), cell.classList.contains("num") && !cell.classList.contains("rank"));
    });
  }
})();
