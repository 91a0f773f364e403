// The table of suspects, a page at a time, and the review by mouse or keys.
const ROWS = 25;

function picture(number, id, size) {
  return number === null ? null : make("img", { src: DATA.pictures[number], alt: "Picture of " + id, class: size });
}

function neighborList(neighbors) {
  if (!neighbors.length) return make("span", { class: "muted", text: "none" });
  const hasPictures = neighbors.some((near) => near.thumbnail !== null);
  const list = make("ul", { class: hasPictures ? "near pictures" : "near lines" });
  for (const near of neighbors) {
    const text = hasPictures ? near.label : `${near.label}: ${near.snippet || near.id}`;
    list.append(make("li", { title: near.id }, picture(near.thumbnail, near.id, "tiny"), make("span", { text })));
  }
  return list;
}

function startReview() {
  const { suspects, classes } = DATA;
  const haystacks = suspects.map((s) => [s.id, s.given, s.suggested, s.snippet || ""].join("\n").toLowerCase());
  const text = byId("filter-text"), which = byId("filter-class"), undecided = byId("filter-undecided");
  let found = suspects.map((_, place) => place);
  let current = 0; // a place in the list of suspects
  let page = 0;

  const used = new Set(suspects.flatMap((s) => [s.given, s.suggested]));
  for (const name of classes) if (used.has(name)) which.append(make("option", { value: "=" + name, text: name }));

  function search() {
    const wanted = text.value.trim().toLowerCase(), name = which.value.slice(1), isAny = which.value === "";
    found = [];
    suspects.forEach((s, place) => {
      if (undecided.checked && decisions.made.has(place)) return;
      if (!isAny && s.given !== name && s.suggested !== name) return;
      if (wanted && !haystacks[place].includes(wanted)) return;
      found.push(place);
    });
  }

  function verdict(place) {
    const made = decisions.made.get(place);
    return made ? `${made.decision}: ${made.label}` : "undecided";
  }

  function actions(place) {
    const s = suspects[place], made = decisions.made.get(place);
    const button = (label, decision, name) => make("button", {
      type: "button", text: label, title: `${label}: ${name}`, "aria-label": `${label} label ${name} for ${s.id}`,
      "aria-pressed": String(Boolean(made) && made.decision === decision),
      on: { click: () => decide(place, decision, name, false) },
    });
    const choice = make("select", { "aria-label": `Choose another label for ${s.id}`, class: made && made.decision === "chosen" ? "set" : "" });
    choice.append(make("option", { value: "", text: "Choose…" }));
    for (const name of classes) choice.append(make("option", { value: "=" + name, text: name }));
    if (made && made.decision === "chosen") choice.value = "=" + made.label;
    choice.addEventListener("change", () => {
      if (choice.value === "") decisions.undo(place);
      else decisions.decide(place, "chosen", choice.value.slice(1));
      current = place;
      refreshRow(place, true);
    });
    const undo = make("button", { type: "button", text: "Undo", "aria-label": `Undo the decision for ${s.id}`, disabled: !made, on: { click: () => { decisions.undo(place); show(); } } });
    return make("div", { class: "actions" }, make("span", { class: "verdict", text: verdict(place) }),
      button("Accept", "accepted", s.suggested), button("Keep", "kept", s.given), choice, undo);
  }

  function row(place) {
    const s = suspects[place];
    const bar = make("i");
    bar.style.width = `${100 * s.quality}%`;
    const shown = make("div", {}, make("div", { class: "id", text: s.id || "(empty id)", title: s.id }),
      s.snippet === null ? null : make("div", { class: "snippet", text: s.snippet }));
    const change = make("div", { class: "change" }, make("del", { text: s.given }), " → ", make("span", { text: s.suggested }));
    const line = make("tr", { tabindex: "-1", "data-place": place, "aria-current": String(place === current) },
      make("td", {}, make("div", { class: "example" }, picture(s.thumbnail, s.id, "big"), shown)),
      make("td", { "data-name": "Given → suggested" }, change, make("p", { class: "why", text: s.why })),
      make("td", { "data-name": "Quality" }, make("span", { text: percent(Math.max(s.quality, 1e-9)) }), make("span", { class: "meter", "aria-hidden": "true" }, bar)),
      make("td", { "data-name": "Neighbours that disagree" }, neighborList(s.neighbors)),
      make("td", { "data-name": "Decision" }, actions(place)));
    line.addEventListener("click", () => mark(place));
    line.addEventListener("focusin", () => mark(place));
    return line;
  }

  const rowOf = (place) => byId("rows").querySelector(`tr[data-place="${place}"]`);

  function mark(place) {
    current = place;
    for (const line of byId("rows").children) line.setAttribute("aria-current", String(Number(line.dataset.place) === place));
  }

  // A new row in the old one's place, so that the select that was just used keeps the focus.
  function refreshRow(place, isChoosing) {
    const old = rowOf(place);
    if (!old) return;
    const fresh = row(place);
    old.replaceWith(fresh);
    if (isChoosing) fresh.querySelector("select").focus();
    state();
  }

  function state() {
    byId("progress-text").textContent = `${grouped(decisions.made.size)} of ${grouped(suspects.length)} reviewed`;
    byId("progress").value = decisions.made.size;
    byId("download").disabled = decisions.made.size === 0;
    const note = byId("storage-note");
    note.hidden = decisions.isKept;
    note.textContent = "This browser does not let the page keep your decisions: download corrections.csv before you close or reload it.";
  }

  function show(focus = false) {
    search();
    const at = found.indexOf(current);
    if (at < 0) current = found.find((place) => place > current) ?? found[found.length - 1] ?? 0;
    page = Math.max(0, Math.floor(found.indexOf(current) / ROWS));
    showPage(focus);
  }

  function showPage(focus = false) {
    const pages = Math.max(1, Math.ceil(found.length / ROWS));
    const rows = found.slice(page * ROWS, (page + 1) * ROWS).map(row);
    if (!rows.length) rows.push(make("tr", {}, make("td", { colspan: "5", class: "muted", text: undecided.checked && decisions.made.size === suspects.length ? "Everything is reviewed." : "Nothing matches the filters." })));
    byId("rows").replaceChildren(...rows);
    byId("found").textContent = found.length === suspects.length ? `${grouped(found.length)} suspects` : `${grouped(found.length)} of ${grouped(suspects.length)} suspects`;
    byId("page-text").textContent = `page ${grouped(page + 1)} of ${grouped(pages)}`;
    byId("page-back").disabled = page === 0;
    byId("page-on").disabled = page >= pages - 1;
    state();
    if (focus) focusRow();
  }

  function focusRow() {
    const line = rowOf(current);
    if (!line) return;
    line.focus({ preventScroll: true });
    line.scrollIntoView({ block: "nearest", behavior: "instant" });
  }

  // The next suspect is found before the list is searched anew: a decided one may leave it.
  function decide(place, decision, label, isKey) {
    const next = found[found.indexOf(place) + 1] ?? place;
    decisions.decide(place, decision, label);
    current = isKey ? next : place;
    show(isKey);
  }

  function move(by) {
    const at = found.indexOf(current);
    const isInside = byId("rows").contains(document.activeElement);
    const next = found[at + (isInside ? by : 0)]; // the first key only takes hold of the current row
    if (next === undefined) return;
    current = next;
    show(true);
  }

  function undo() {
    const place = decisions.made.has(current) ? current : decisions.order[decisions.order.length - 1];
    if (place === undefined) return;
    decisions.undo(place);
    current = place;
    show(true);
  }

  function toggleKeys() {
    const keys = byId("keys");
    keys.hidden = !keys.hidden;
    byId("keys-button").setAttribute("aria-expanded", String(!keys.hidden));
  }

  const keys = {
    a: () => found.length && decide(current, "accepted", suspects[current].suggested, true),
    k: () => found.length && decide(current, "kept", suspects[current].given, true),
    c: () => { const line = rowOf(current); if (line) { line.scrollIntoView({ block: "nearest" }); line.querySelector("select").focus(); } },
    u: undo,
    j: () => move(1), n: () => move(1), p: () => move(-1),
    "?": toggleKeys,
  };
  document.addEventListener("keydown", (event) => {
    if (!isPlainKey(event)) return;
    const target = event.target, isBody = target === document.body;
    const isInTable = byId("rows").contains(target);
    if (target.tagName === "SELECT" && isInTable) {
      if (event.key === "Enter" || event.key === "Escape") { event.preventDefault(); focusRow(); }
      return;
    }
    if (target.tagName === "SELECT" || (target.tagName === "INPUT" && target.type === "search")) return;
    if (isInTable && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if ((isBody || byId("suspects").contains(target)) && Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  text.addEventListener("input", () => show());
  which.addEventListener("change", () => show());
  undecided.addEventListener("change", () => show());
  byId("page-back").addEventListener("click", () => { page -= 1; current = found[page * ROWS]; showPage(); });
  byId("page-on").addEventListener("click", () => { page += 1; current = found[page * ROWS]; showPage(); byId("table").scrollIntoView({ block: "start" }); });
  byId("download").addEventListener("click", () => download("corrections.csv", decisions.csv()));
  byId("keys-button").addEventListener("click", toggleKeys);
  decisions.listeners.push(state);
  decisions.load();
  current = suspects.findIndex((_, place) => !decisions.made.has(place));
  if (current < 0) current = 0;
  show();

  return function open(place) {
    text.value = ""; which.value = ""; undecided.checked = false;
    current = place;
    show(true);
  };
}
