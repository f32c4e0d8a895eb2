// The table of problems. Rows come from problems/N.js, one script a variant, loaded when the variant is chosen.
(function () {
  "use strict";
  var PAGE = 25;
  var NAMES = { r: "right", w: "wrong", a: "no answer", u: "no label", "-": "not scored" };
  var BEFORE = 0, PRONOUN = 1, AFTER = 2, CANDIDATES = 3, ANSWER = 4, GROUP = 5, ORIGIN = 6, MADE = 7, TRAIL = 8, LANGUAGE = 9;
  var files = JSON.parse(document.getElementById("scripts").textContent);
  var loaded = {}, said = {};
  var state = { variant: 0, scorer: 0, outcome: "", search: "", sort: "given", only: null, page: 0 };
  var shown = [];

  function byId(id) { return document.getElementById(id); }

  function element(tag, className, text) {
    var made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  window.winokitProblems = function (place, content) {
    content.haystack = null;
    loaded[place] = content;
  };

  function open(place) {
    state.variant = place;
    if (loaded[place]) { refreshChoices(); return; }
    var script = element("script");
    script.src = files[place];
    script.onload = function () { if (state.variant === place) refreshChoices(); };
    script.onerror = function () { byId("missing").hidden = false; };
    document.head.appendChild(script);
  }

  window.winokitTranscripts = function (place, content) { said[place] = content; };

  function withTranscripts(place, show, fail) {
    if (said[place]) { show(said[place]); return; }
    var script = element("script");
    script.src = files[place].replace("problems/", "transcripts/");
    script.onload = function () { show(said[place]); };
    script.onerror = fail;
    document.head.appendChild(script);
  }

  function refreshChoices() {
    var content = loaded[state.variant];
    byId("filters").hidden = byId("listing").hidden = false;
    byId("variant").value = String(state.variant);
    var select = byId("scorer");
    var wanted = select.selectedOptions.length ? select.selectedOptions[0].textContent : "";
    select.replaceChildren();
    content.scorers.forEach(function (name, index) { select.append(new Option(name, String(index))); });
    state.scorer = Math.max(content.scorers.indexOf(wanted), 0);
    select.value = String(state.scorer);
    byId("scorer-label").hidden = content.scorers.length < 2;
    refresh();
  }

  function made(row) { return row[MADE][state.scorer] || ["-"]; }

  function margin(row) {
    var scores = made(row)[2];
    if (!scores || scores.indexOf(null) >= 0) return null;
    var sorted = scores.slice().sort(function (a, b) { return b - a; });
    return sorted[0] - sorted[1];
  }

  function haystack(content) {
    if (!content.haystack) {
      content.haystack = content.rows.map(function (row) {
        var text = row[BEFORE] + (row[PRONOUN] || "_") + row[AFTER];
        return [text].concat(row[CANDIDATES], row[GROUP] || "", row[ORIGIN]).join("\n").toLowerCase();
      });
    }
    return content.haystack;
  }

  function matching(content) {
    var needle = state.search.trim().toLowerCase();
    var texts = needle ? haystack(content) : null;
    var found = [];
    content.rows.forEach(function (row, index) {
      if (needle && texts[index].indexOf(needle) < 0) return;
      if (state.only && row[state.only.field] !== state.only.value) return;
      found.push(index);
    });
    return found;
  }

  function sorted(content, found) {
    var rows = content.rows;
    var key = {
      widest: function (i) { var m = margin(rows[i]); return m === null ? Infinity : -m; },
      narrowest: function (i) { var m = margin(rows[i]); return m === null ? Infinity : m; },
      group: function (i) { return rows[i][GROUP] === null ? "\uffff" : String(rows[i][GROUP]); },
      outcome: function (i) { return "wra u-".indexOf(made(rows[i])[0]); }
    }[state.sort];
    if (!key) return found;
    var keyed = found.map(function (index) { return [key(index), index]; });
    keyed.sort(function (a, b) { return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]; });
    return keyed.map(function (pair) { return pair[1]; });
  }

  function refresh() {
    var content = loaded[state.variant];
    var found = matching(content);
    outcomeButtons(content, found);
    if (state.outcome) {
      found = found.filter(function (index) { return made(content.rows[index])[0] === state.outcome; });
    }
    shown = sorted(content, found);
    state.page = 0;
    var only = byId("only");
    only.hidden = !state.only;
    if (state.only) only.textContent = state.only.label + " ✕";
    draw();
  }

  function outcomeButtons(content, found) {
    var counts = {};
    found.forEach(function (index) {
      var letter = made(content.rows[index])[0];
      counts[letter] = (counts[letter] || 0) + 1;
    });
    var box = byId("outcomes");
    var legend = box.firstElementChild;
    box.replaceChildren(legend);
    [["", "all", found.length]].concat(Object.keys(NAMES).filter(function (letter) {
      return counts[letter] || letter === state.outcome;
    }).map(function (letter) { return [letter, NAMES[letter], counts[letter] || 0]; })).forEach(function (choice) {
      var button = element("button", "choice o-" + (choice[0] === "-" ? "n" : choice[0] || "all"));
      button.type = "button";
      button.dataset.outcome = choice[0];
      button.setAttribute("aria-pressed", String(state.outcome === choice[0]));
      button.append(choice[1] + " ", element("b", "", choice[2].toLocaleString("en")));
      button.addEventListener("click", function () { state.outcome = choice[0]; refresh(); });
      box.append(button);
    });
  }

  function draw() {
    var content = loaded[state.variant];
    var start = state.page * PAGE;
    var part = shown.slice(start, start + PAGE);
    byId("rows").replaceChildren.apply(byId("rows"), part.map(function (index) { return rowOf(content, index); }));
    byId("count").textContent = shown.length
      ? (start + 1).toLocaleString("en") + " to " + (start + part.length).toLocaleString("en") + " of " + shown.length.toLocaleString("en")
      : "No problem matches.";
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = start + PAGE >= shown.length;
  }

  function rowOf(content, index) {
    var row = content.rows[index];
    var choice = made(row);
    var line = element("tr");
    line.append(element("td", "place", String(index + 1)));
    var cell = element("td", "text");
    if (row[BEFORE] || row[AFTER]) cell.append(textOf(row));  // whole texts to choose from are all there is
    cell.append(candidatesOf(row, choice));
    if (row[LANGUAGE]) cell.querySelectorAll(".sentence, .name").forEach(function (words) {
      words.lang = row[LANGUAGE];  // which letters a browser draws for 直 depends on it
      words.dir = "auto";
    });
    if (choice[3]) cell.append(element("p", "why", "No answer: " + choice[3]));
    if (row[TRAIL].length) cell.append(trailOf(content, row));
    if (content.said[state.scorer] && choice[0] !== "-") cell.append(talkOf(row));
    line.append(cell, groupOf(row));
    var ahead = margin(row);
    line.append(element("td", "margin", ahead === null ? "–" : Number(ahead.toPrecision(3)).toString()));
    var outcome = element("td", "outcome");
    outcome.append(element("span", "pill o-" + (choice[0] === "-" ? "n" : choice[0]), NAMES[choice[0]]));
    line.append(outcome);
    return line;
  }

  function textOf(row) {
    var text = element("p", "sentence");
    text.append(row[BEFORE], element("mark", "", row[PRONOUN] || "____"), row[AFTER]);
    return text;
  }

  function candidatesOf(row, choice) {
    var list = element("ul", "candidates");
    row[CANDIDATES].forEach(function (candidate, place) {
      var item = element("li");
      if (place === row[ANSWER]) item.classList.add("correct");
      if (place === choice[1]) item.classList.add("chosen");
      item.append(element("span", "name", candidate));
      if (choice[2]) item.append(element("span", "score", choice[2][place] === null ? "–" : String(choice[2][place])));
      if (place === row[ANSWER]) item.append(element("span", "tag", "answer"));
      if (place === choice[1]) item.append(element("span", "tag picked", "chosen"));
      list.append(item);
    });
    return list;
  }

  function trailOf(content, row) {
    var trail = element("p", "trail");
    (row[TRAIL][state.scorer] || "").split("").forEach(function (letter, place) {
      if (letter === "-") return;
      var button = element("button", "step o-" + letter, content.variants[place] + " " + { r: "✓", w: "✗", a: "–", u: "?" }[letter]);
      button.type = "button";
      button.title = content.variants[place] + ": " + NAMES[letter];
      button.addEventListener("click", function () {
        state.only = { field: ORIGIN, value: row[ORIGIN], label: "one problem, as " + content.variants[place] };
        reset();
        open(place + 1);
      });
      trail.append(button);
    });
    return trail;
  }

  function talkOf(row) {
    var place = state.variant, scorer = state.scorer;
    var details = element("details", "talk");
    details.append(element("summary", "", "Prompts and replies"));
    details.addEventListener("toggle", function () {
      if (details.childElementCount > 1) return;
      withTranscripts(place, function (content) {
        (content.said[scorer][row[ORIGIN]] || []).forEach(function (exchange) {
          details.append(exchangeOf(content.paragraphs, exchange));
        });
        // The question comes after its shots, and the answer after its thought.
        details.querySelectorAll("pre").forEach(function (text) { text.scrollTop = text.scrollHeight; });
      }, function () { details.append(element("p", "why", "The folder transcripts/ is not beside this page.")); });
    });
    return details;
  }

  function exchangeOf(paragraphs, exchange) {
    var box = element("div", "exchange");
    var prompt = exchange[0].map(function (index) { return paragraphs[index]; }).join("\n\n");
    var read = exchange[2] === null ? "no choice" + (exchange[4] ? ": " + exchange[4] : "") : "read as " + exchange[2];
    if (exchange[3]) {
      read += "; log-probabilities " + exchange[3].map(function (pair) { return pair[0] + " " + pair[1]; }).join(", ");
    }
    box.append(element("pre", "prompt", prompt), element("pre", "reply", exchange[1] || "(no text)"), element("p", "why", read));
    return box;
  }

  function groupOf(row) {
    var cell = element("td", "group");
    if (row[GROUP] === null) { cell.textContent = "–"; return cell; }
    var button = element("button", "link", row[GROUP]);
    button.type = "button";
    button.title = "Show this group alone";
    button.addEventListener("click", function () {
      state.only = { field: GROUP, value: row[GROUP], label: "group " + row[GROUP] };
      reset();
      refresh();
    });
    cell.append(button);
    return cell;
  }

  function reset() {
    state.outcome = state.search = byId("search").value = "";
  }

  byId("filters").addEventListener("submit", function (event) { event.preventDefault(); });
  byId("variant").addEventListener("change", function (event) { state.outcome = ""; open(Number(event.target.value)); });
  byId("scorer").addEventListener("change", function (event) { state.scorer = Number(event.target.value); refresh(); });
  byId("sort").addEventListener("change", function (event) { state.sort = event.target.value; refresh(); });
  byId("search").addEventListener("input", function (event) { state.search = event.target.value; refresh(); });
  byId("only").addEventListener("click", function () {
    var back = state.only.field === ORIGIN;
    state.only = null;
    if (back) open(0); else refresh();
  });
  byId("previous").addEventListener("click", function () { state.page -= 1; draw(); });
  byId("next").addEventListener("click", function () { state.page += 1; draw(); });
  open(0);
})();
