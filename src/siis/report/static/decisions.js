// What is there to decide: suspects (or, where none stands out, the labels in most doubt), then queries.
const LISTED = DATA.suspects.length ? DATA.suspects : DATA.doubtful;
const ITEMS = [...LISTED, ...DATA.queries.map((query) => ({ ...query, suggested: query.classes[0] }))];

const named = (name) => name || "(empty)";

// What the reviewer decided, by the place in that list; the digest of the data keeps reports apart.
const decisions = {
  key: "siis-review-" + document.body.dataset.digest,
  made: new Map(), // place -> {decision, label}
  order: [], // places in the order of their decisions, for undo
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
      const rows = JSON.parse(stored).filter(isValid);
      this.made.clear();
      this.order = [];
      for (const row of rows) this.put(...row);
    } catch {
      this.isKept = false; // no storage here, or what it holds is not ours
    }
  },

  put(place, decision, label) {
    this.made.set(place, { decision, label });
    this.order = this.order.filter((other) => other !== place);
    this.order.push(place);
  },

  decide(place, decision, label) {
    if (this.isKept) this.load();
    this.put(place, decision, label);
    this.save();
  },

  undo(place) {
    if (this.isKept) this.load();
    this.made.delete(place);
    this.order = this.order.filter((other) => other !== place);
    this.save();
  },

  words(place) {
    const made = this.made.get(place);
    return made ? `${change(ITEMS[place].given, made.label)}, will be saved` : "not decided";
  },

  save() {
    const rows = this.order.map((place) => [place, this.made.get(place).decision, this.made.get(place).label]);
    try {
      history.replaceState({ key: this.key, rows: JSON.stringify(rows) }, "");
      localStorage.setItem(this.key, JSON.stringify(rows));
      this.isKept = true;
    } catch {
      this.isKept = false;
    }
    for (const listener of this.listeners) listener();
  },

  csv() {
    const lines = ["id,label,decision"];
    for (const place of [...this.made.keys()].sort((a, b) => a - b)) {
      const { decision, label } = this.made.get(place);
      lines.push(csvLine([ITEMS[place].id, label, decision]));
    }
    return lines.join("\r\n") + "\r\n";
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
