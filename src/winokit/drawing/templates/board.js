for (const section of document.querySelectorAll(".board-section")) {
  const table = section.querySelector(".board");
  const find = section.querySelector(".board-find");
  const unfold = section.querySelector(".board-all");
  const more = section.querySelector(".board-more");
  const count = section.querySelector(".board-count");
  const families = [...table.tBodies];
  const before = count.textContent;
  let isShort = more !== null;

  for (const control of section.querySelectorAll("[hidden]")) control.hidden = false;
  table.classList.add("folding");
  table.classList.toggle("short", isShort);

  table.addEventListener("click", (event) => {
    if (event.target.classList.contains("fold")) event.target.closest("tbody").classList.toggle("open");
  });
  unfold.addEventListener("click", () => {
    const isFolding = table.classList.toggle("folding");
    unfold.textContent = isFolding ? "Unfold families" : "Fold families";
  });
  more?.addEventListener("click", () => {
    isShort = false;
    table.classList.remove("short");
    more.hidden = true;
  });
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
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
    table.classList.toggle("short", isShort && !words.length);
    count.textContent = words.length ? `${shown.toLocaleString("en")} found` : before;
  });
}
