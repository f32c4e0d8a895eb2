(() => {
  const table = document.getElementById("board-table");
  const find = document.getElementById("board-find");
  const unfold = document.getElementById("board-all");
  const more = document.getElementById("board-more");
  const count = document.getElementById("board-count");
  const families = [...table.tBodies];
  const before = count.textContent;
  for (const control of [find, unfold, ...(more ? [more] : []), ...table.querySelectorAll(".fold")]) control.hidden = false;
  table.classList.add("folding", "short");
  more?.addEventListener("click", () => {
    table.classList.remove("short");
    more.hidden = true;
  });
  table.addEventListener("click", (event) => {
    if (event.target.classList.contains("fold")) event.target.closest("tbody").classList.toggle("open");
  });
  unfold.addEventListener("click", () => {
    const isFolding = table.classList.toggle("folding");
    unfold.textContent = isFolding ? "Unfold families" : "Fold families";
  });
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    table.classList.toggle("short", !words.length && more !== null && !more.hidden);
    for (const family of families) {
      let inFamily = 0;
      for (const row of family.rows) {
        const name = row.querySelector(".who").firstChild.textContent.toLowerCase();
        const fits = words.every((word) => name.includes(word));
        row.classList.toggle("away", !fits);
        inFamily += fits;
      }
      family.classList.toggle("away", !inFamily);
      family.classList.toggle("open", words.length > 0 && inFamily > 0);
      shown += inFamily;
    }
    count.textContent = words.length ? `${shown.toLocaleString("en")} found` : before;
  });
})();
