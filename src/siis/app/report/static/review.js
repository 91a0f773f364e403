// Lists to review, a page at a time, by mouse or keys: the labels to review, and what to label next.
const ROWS = 25;
const SEEN = 64; // pixels of a row that must be on the screen, below the bar at its top, before a key decides
const STARTLED = 700; // milliseconds in which nobody has read a row that has just come
const lists = [];
let active = null; // the list that keys go to while nothing has the focus

function likelyClasses(query) {
  const list = make("ul", { class: "likely" });
  query.classes.forEach((name, k) => list.append(make("li", {}, make("span", { text: named(name) }), make("span", { class: "muted", text: " " + percent(query.probabilities[k]) }))));
  return list;
}

function meter(quality) {
  const bar = make("i");
  bar.style.width = `${100 * quality}%`;
  return [make("span", { text: percent(Math.max(quality, 1e-9)) }), make("span", { class: "meter", "aria-hidden": "true" }, bar)];
}

// The middle cells of a row.
const MIDDLE = {
  suspects: (s) => [
    make("td", { "data-name": "Given → suggested" },
      make("div", { class: "change" }, make("del", { text: named(s.given) }), " → ", make("span", { text: named(s.suggested) })), make("p", { class: "why", text: s.why })),
    make("td", { "data-name": "Quality" }, ...meter(s.quality)),
  ],
  queries: (q) => [
    make("td", { "data-name": "What to do" }, make("div", { class: "change", text: q.action === "label" ? "Label it" : `Check its label: ${named(q.given)}` }), make("p", { class: "why", text: q.why })),
    make("td", { "data-name": "Likely classes" }, likelyClasses(q)),
  ],
};

// name: "suspects" or "queries", the section; prefix: of its elements' ids; places: in ITEMS; left: where the reviewer was
// in the list that this one takes the place of, as its `leave` gives it.
function startList(name, prefix, places, left = null) {
  const section = byId(name), rows = byId(prefix + "rows"), status = byId(prefix + "status");
  const opened = new Set((left?.opened ?? []).map((id) => PLACES.get(id)).filter((place) => places.includes(place))); // places whose columns are shown
  const until = left === null ? 0 : performance.now() + STARTLED;
  const filters = prefix === "" ? startFilters(places, () => show(), left?.filters) : { wanted: () => places, clear() {}, empty: () => "", leave: () => null };
  let found = places;
  let current = places[0];
  let page = 0;
  let choosing = false;
  let announced = null; // the decision that the status line shows
  let resting = left?.resting ?? status.textContent; // the status line while nothing happens

  const rowOf = (place) => rows.querySelector(`tr[data-place="${place}"]`);
  const made = () => places.filter((place) => decisions.of(place)).length;
  const canAccept = (item) => item.suggested !== item.given;

  function actions(place) {
    const item = ITEMS[place], decision = decisions.of(place);
    const button = (label, kind, to) => make("button", {
      type: "button", text: label, title: change(item.given, to), "aria-label": `${label} label ${to} for ${item.id}`,
      "aria-pressed": String(Boolean(decision) && decision.decision === kind), on: { click: () => decide(place, kind, to, false) },
    });
    const isChosen = Boolean(decision) && decision.decision === "chosen";
    return make("div", { class: "actions" },
      make("span", { class: decision ? "verdict" : "verdict muted", text: decisions.words(item.id) }),
      canAccept(item) ? button("Accept", "accepted", item.suggested) : null,
      item.given === null ? null : button("Keep", "kept", item.given),
      make("button", { type: "button", text: "Choose…", class: "choose", "aria-label": `Choose another label for ${item.id}`, "aria-pressed": String(isChosen), on: { click: () => choose(place) } }),
      make("button", { type: "button", text: "Undo", "aria-label": `Undo the decision for ${item.id}`, disabled: !decision, on: { click: () => takeBack(place) } }));
  }

  function moreButton(place) {
    if (ITEMS[place].cells === null || !DATA.columns.length) return null;
    const isOpen = opened.has(place);
    return make("button", {
      type: "button", class: "more", text: isOpen ? "Hide the columns" : `Compare all ${DATA.columns.length} columns`, "aria-expanded": String(isOpen),
      on: { click: () => { opened[isOpen ? "delete" : "add"](place); current = place; showPage(); rowOf(place).querySelector(".more").focus(); } },
    });
  }

  function row(place) {
    const item = ITEMS[place];
    const line = make("tr", { tabindex: "-1", "data-place": place, "aria-current": String(place === current) },
      exampleCell(item, moreButton(place)), ...MIDDLE[name](item),
      make("td", { "data-name": name === "suspects" ? "Neighbours that disagree" : "Neighbours" }, neighborList(item)),
      make("td", { "data-name": "Decision" }, actions(place)));
    line.addEventListener("click", () => mark(place));
    line.addEventListener("focusin", () => mark(place));
    return opened.has(place) && item.cells !== null ? [line, make("tr", { class: "opened" }, make("td", { colspan: "5" }, comparison(item)))] : [line];
  }

  function mark(place) {
    current = place;
    active = list;
    for (const line of rows.querySelectorAll("tr[data-place]")) line.setAttribute("aria-current", String(Number(line.dataset.place) === place));
  }

  function announce(id, none) {
    status.textContent = `${id}: ${decisions.words(id, none)}.`;
    announced = { id, none, text: status.textContent };
  }

  // Of the decisions that the progress above it counts: those in this list, and those that are in no list any more.
  function restingText() {
    const counted = decisions.order.filter((id) => !PLACES.has(id) || places.includes(PLACES.get(id)));
    if (!counted.length) return "Nothing is decided in this list yet.";
    const last = counted[counted.length - 1];
    return `Decided before: ${grouped(counted.length)}; the last was ${last}: ${decisions.words(last)}.`;
  }

  function state() {
    const rest = restingText();
    if (status.textContent === resting) status.textContent = rest;
    resting = rest;
    if (announced?.text === status.textContent) announce(announced.id, announced.none);
    for (const line of rows.querySelectorAll("tr[data-place]")) line.querySelector(".verdict").textContent = decisions.words(ITEMS[line.dataset.place].id);
    const [text, value, most] = decisions.progress(made(), places.length);
    byId(prefix + "progress-text").textContent = text;
    Object.assign(byId(prefix + "progress"), { max: most, value });
    byId(prefix + "download").disabled = decisions.made.size === 0;
    byId(prefix + "undo").disabled = decisions.made.size === 0;
    const note = byId(prefix + "storage-note");
    note.hidden = decisions.isKept;
    note.textContent = "This browser does not let the page keep your decisions: download corrections.csv before you close or reload it.";
  }

  function show(focus = false) {
    found = filters.wanted();
    if (!found.includes(current)) current = found.find((place) => place > current) ?? found[found.length - 1] ?? places[0];
    page = Math.max(0, Math.floor(found.indexOf(current) / ROWS));
    showPage(focus);
  }

  function showPage(focus = false) {
    choosing = false;
    const shown = found.slice(page * ROWS, (page + 1) * ROWS).flatMap(row);
    if (!shown.length) shown.push(make("tr", {}, make("td", { colspan: "5", class: "muted", text: filters.empty(made() === places.length) })));
    rows.replaceChildren(...shown);
    if (prefix === "") filters.count(found);
    const pages = Math.max(1, Math.ceil(found.length / ROWS));
    byId(prefix + "page-text").textContent = `page ${grouped(page + 1)} of ${grouped(pages)}`;
    byId(prefix + "page-back").disabled = page === 0;
    byId(prefix + "page-on").disabled = page >= pages - 1;
    state();
    if (focus) focusRow();
  }

  function focusRow() {
    const line = rowOf(current);
    if (!line) return;
    line.focus({ preventScroll: true });
    line.scrollIntoView({ block: "nearest", behavior: "instant" });
  }

  // The next one is found before the list is searched anew: a decided one may leave it.
  function decide(place, decision, label, isNext) {
    if (isStartling(place)) return;
    const next = found[found.indexOf(place) + 1] ?? place;
    decisions.decide(ITEMS[place].id, decision, label);
    announce(ITEMS[place].id);
    current = isNext ? next : place;
    show(isNext);
  }

  // A new list has just come, and this row was not there to be looked at.
  function isStartling(place) {
    if (performance.now() > until || left.seen.includes(ITEMS[place].id)) return false;
    status.textContent = `${ITEMS[place].id}: the list has just changed. Decide once more.`;
    return true;
  }

  function choose(place) {
    if (choosing) return;
    mark(place);
    choosing = true;
    const host = rowOf(place).querySelector(".actions");
    host.classList.add("choosing");
    openChooser(host, ITEMS[place], (label) => { choosing = false; decide(place, "chosen", label, true); }, (isBack) => {
      choosing = false;
      host.classList.remove("choosing");
      if (isBack) focusRow();
    });
  }

  function takeBack(place) {
    decisions.undo(ITEMS[place].id);
    announce(ITEMS[place].id, "not decided any more");
    current = place;
    show(true);
  }

  function move(by) {
    const isInside = rows.contains(document.activeElement);
    const next = found[found.indexOf(current) + (isInside ? by : 0)]; // the first key only takes hold of the current row
    if (next === undefined) return;
    current = next;
    show(true);
  }

  function isSeen() {
    const box = rowOf(current).getBoundingClientRect();
    return box.bottom > SEEN && box.top < window.innerHeight - SEEN;
  }

  function press(key) {
    const item = ITEMS[current], isThere = found.includes(current);
    if ("ak".includes(key) && isThere && !isSeen()) {
      focusRow();
      status.textContent = `${item.id}: press ${key} again to decide, now that it can be seen.`;
    } else if (key === "a" && isThere) {
      if (canAccept(item)) decide(current, "accepted", item.suggested, true);
      else status.textContent = `${item.id}: no other class is suggested. Keep its label, or choose one.`;
    } else if (key === "k" && isThere) {
      if (item.given !== null) decide(current, "kept", item.given, true);
      else status.textContent = `${item.id}: there is no label to keep. Accept the likeliest class, or choose one.`;
    } else if (key === "c" && isThere && rowOf(current)) choose(current);
    else if (key === "u" && decisions.of(current)) takeBack(current);
    else if (key === "u") undoLast();
    else if (key === "e") { if (isThere && item.thumbnail !== null) enlarge(item.thumbnail, item.id); }
    else if ("jn".includes(key)) move(1);
    else if (key === "p") move(-1);
  }

  function open(place) {
    filters.clear();
    current = place;
    show(true);
  }

  function turn(by) {
    page += by;
    current = found[page * ROWS];
    showPage();
  }

  byId(prefix + "page-back").addEventListener("click", () => turn(-1));
  byId(prefix + "page-on").addEventListener("click", () => { turn(1); rows.closest("table").scrollIntoView({ block: "start" }); });
  byId(prefix + "download").addEventListener("click", () => download("corrections.csv", decisions.csv()));
  byId(prefix + "undo").addEventListener("click", undoLast);
  byId(prefix + "keys-button").addEventListener("click", toggleKeys);
  decisions.listeners.push(state);
  const following = (left?.ids ?? []).map((id) => PLACES.get(id)).find((place) => places.includes(place));
  const first = following ?? places.find((place) => !decisions.of(place));
  if (first !== undefined) current = first;
  if (left !== null) status.textContent = left.status;
  const refresh = () => (choosing ? state() : show(rows.contains(document.activeElement)));

  // Where the reviewer is: ids from the current row on, since that one may not be in the next list; ids on which a
  // decision may be on its way.
  function leave() {
    const under = rows.querySelector("tr[data-place]:hover");
    const idAt = (place) => ITEMS[place].id;
    return {
      ids: found.slice(Math.max(0, found.indexOf(current))).map(idAt),
      seen: [current, ...(under ? [Number(under.dataset.place)] : [])].map(idAt),
      opened: [...opened].map(idAt),
      filters: filters.leave(),
      status: status.textContent,
      resting,
      isActive: active === list,
    };
  }

  const list = { name, section, rows, places, press, move, takeBack, open, refresh, leave, announce, isChoosing: () => choosing, currentRow: () => rowOf(current), focusRow };
  lists.push(list);
  show();
  return list;
}

// Search, class and progress of the first list.
function startFilters(places, changed, left) {
  const text = byId("filter-text"), which = byId("filter-class"), undecided = byId("filter-undecided");
  const haystacks = places.map((place) => {
    const s = ITEMS[place];
    return [s.id, s.given, s.suggested, s.snippet || "", ...(cellsOf(s) || [])].join("\n").toLowerCase();
  });
  const used = new Set(places.flatMap((place) => [ITEMS[place].given, ITEMS[place].suggested]));
  for (const name of DATA.classes) if (used.has(name)) which.append(make("option", { value: "=" + name, text: name }));
  if (left) [text.value, which.value, undecided.checked] = [left.text, [...which.options].some((one) => one.value === left.which) ? left.which : "", left.undecided];
  text.addEventListener("input", changed);
  which.addEventListener("change", changed);
  undecided.addEventListener("change", changed);
  return {
    wanted() {
      const typed = text.value.trim().toLowerCase(), name = which.value.slice(1), isAny = which.value === "";
      return places.filter((place) => {
        const s = ITEMS[place];
        if (undecided.checked && decisions.of(place)) return false;
        return (isAny || s.given === name || s.suggested === name) && haystacks[place].includes(typed);
      });
    },
    leave: () => ({ text: text.value, which: which.value, undecided: undecided.checked }),
    clear() { text.value = ""; which.value = ""; undecided.checked = false; },
    empty: (isDone) => (undecided.checked && isDone ? "Everything is reviewed." : "Nothing matches the filters."),
    count(found) {
      const of = found.length === places.length ? "" : ` of ${grouped(places.length)}`;
      byId("found").textContent = `${grouped(found.length)}${of} suspects`;
    },
  };
}

function undoLast() {
  const id = decisions.order[decisions.order.length - 1];
  if (id === undefined) return;
  const list = lists.find((one) => one.places.includes(PLACES.get(id)));
  if (list) return list.takeBack(PLACES.get(id));
  decisions.undo(id);
  for (const one of lists) one.announce(id, "not decided any more");
}

function toggleKeys() {
  const box = byId("keys"), isHidden = !box.hidden;
  box.hidden = isHidden;
  for (const list of lists) list.section.querySelector(".keys-button").setAttribute("aria-expanded", String(!isHidden));
  if (!isHidden) box.scrollIntoView({ block: "nearest" });
}

const KEYS = ["a", "k", "c", "u", "j", "n", "p", "e"];
const isTyped = (node) => node.tagName === "SELECT" || (node.tagName === "INPUT" && !["checkbox", "radio"].includes(node.type));

// left: what each former list's `leave` has given, by its name, where new ones take their places.
function startReview(left = {}) {
  lists.length = decisions.listeners.length = 0;
  if (LISTED.length) startList("suspects", "", [...LISTED.keys()], left.suspects);
  if (DATA.queries.length) startList("queries", "query-", [...DATA.queries.keys()].map((k) => LISTED.length + k), left.queries);
  active = lists.find((list) => left[list.name]?.isActive) || lists[0] || null;
}

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (!isPlainKey(event) || isTyped(target) || byId("enlarged").open) return;
    const list = lists.find((one) => one.section.contains(target)) || (target === document.body ? active : null);
    if (list === null) return;
    if (list.rows.contains(target) && (key === "ArrowDown" || key === "ArrowUp")) list.move(key === "ArrowDown" ? 1 : -1);
    else if (key === "?") toggleKeys();
    else if (KEYS.includes(key)) { if (!event.repeat || "jnp".includes(key)) list.press(key); } // a held key only moves
    else return;
    event.preventDefault();
  });
}

const openSuspect = (place) => lists[0].open(place);
