// What is there to decide: suspects, then queries.
let LISTED, ITEMS, PLACES;

function readItems() {
  LISTED = DATA.suspects;
  ITEMS = [...LISTED, ...DATA.queries.map((query) => ({ ...query, suggested: query.classes[0] }))];
  PLACES = new Map(ITEMS.map((item, place) => [item.id, place]));
}
readItems();

const named = (name) => name || "(empty)";

// What the reviewer decided, by id. The browser keeps it by the place in that list; the digest of the data keeps
// reports apart. Where siis review serves the page, served.js sends it there instead.
const decisions = {
  key: "siis-review-" + document.body.dataset.digest,
  made: new Map(), // id -> {decision, label}
  order: [], // ids in the order of their decisions, for undo
  isKept: true,
  listeners: [],

  // What is stored goes before what this page knows: another window may have decided since. The window's own
  // history holds them as well: reloading a file, Chromium at times finds its storage empty.
  load() {
    try {
      const own = history.state && history.state.key === this.key ? history.state.rows : null;
      const stored = localStorage.getItem(this.key) ?? own;
      if (stored === null) return;
      const isValid = ([place, decision, label]) => ITEMS[place] && ["accepted", "kept", "chosen"].includes(decision) && DATA.classes.includes(label);
      this.set(JSON.parse(stored).filter(isValid).map(([place, ...rest]) => [ITEMS[place].id, ...rest]));
    } catch {
      this.isKept = false; // no storage here, or what it holds is not ours
    }
  },

  set(rows) {
    this.made.clear();
    this.order = [];
    for (const row of rows) this.put(...row);
  },

  put(id, decision, label) {
    this.made.set(id, { decision, label });
    this.order = this.order.filter((other) => other !== id);
    this.order.push(id);
  },

  decide(id, decision, label) {
    if (this.isKept) this.load();
    this.put(id, decision, label);
    this.save(id, decision, label);
  },

  undo(id) {
    if (this.isKept) this.load();
    this.made.delete(id);
    this.order = this.order.filter((other) => other !== id);
    this.save(id, "undone", null);
  },

  of: (place) => decisions.made.get(ITEMS[place].id),
  kept: (id) => (decisions.made.has(id) ? "will be saved" : ""), // what becomes of it, in words
  newClass: (id, name) => `For a new class, add this line to corrections.csv: ${csvLine([id, name, "chosen"])}`,
  progress: (made, all) => [`${grouped(made)} of ${grouped(all)} reviewed`, made, all],

  words(id, none = "not decided") {
    const made = this.made.get(id), item = ITEMS[PLACES.get(id)];
    const what = made && (item ? change(item.given, made.label) : named(made.label));
    return [what ?? none, this.kept(id)].filter(Boolean).join(", ");
  },

  rows() {
    return this.order.map((id) => [id, this.made.get(id).decision, this.made.get(id).label]);
  },

  save() {
    const rows = JSON.stringify(this.rows().map(([id, ...rest]) => [PLACES.get(id), ...rest]));
    try {
      history.replaceState({ key: this.key, rows }, "");
      localStorage.setItem(this.key, rows);
      this.isKept = true;
    } catch {
      this.isKept = false;
    }
    for (const listener of this.listeners) listener();
  },

  // In the order of the list; what has left it comes first.
  csv() {
    const rows = this.rows().sort(([a], [b]) => (PLACES.get(a) ?? -1) - (PLACES.get(b) ?? -1));
    return [["id", "label", "decision"], ...rows.map(([id, decision, label]) => [id, label, decision])].map((cells) => csvLine(cells) + "\r\n").join("");
  },
};

// RFC 4180. Ids and labels are written as they are, so that they find their rows again.
function csvLine(cells) {
  return cells.map((text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text)).join(",");
}

function change(given, label) {
  if (given === label) return `${named(given)} stays`;
  return `${given === null ? "no label" : named(given)} → ${named(label)}`;
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = make("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
