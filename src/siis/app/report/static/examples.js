// An example on the page: its picture, its text, the cells of its table, and how it differs from its neighbours.
const SHOWN_CELLS = 5, SHOWN_DIFFERENCES = 3;

// A picture that a click enlarges.
function picture(number, id, size) {
  if (number === null) return null;
  const small = make("img", { src: DATA.pictures[number], alt: "Picture of " + id, class: size });
  return make("button", { type: "button", class: "enlarge", title: "Enlarge", "aria-label": `Enlarge the picture of ${id}`, on: { click: () => enlarge(number, id) } }, small);
}

// The large picture where the page has it, else the small one drawn larger.
function enlarge(number, id) {
  const hasLarge = Object.hasOwn(DATA.large, id);
  const image = byId("enlarged-image");
  Object.assign(image, { src: hasLarge ? DATA.large[id] : DATA.pictures[number], alt: "Picture of " + id, className: hasLarge ? "" : "small" });
  byId("enlarged-name").textContent = id;
  byId("enlarged-note").textContent = hasLarge ? "" : "Drawn from its thumbnail.";
  byId("enlarged").showModal();
}

const cellsOf = (example) => (example.cells === null ? null : DATA.rows[example.cells]);
const cellText = (text) => (text === "" ? "(empty)" : text);

// Columns in which it differs from most of its neighbours first, then the others as in the file.
function cellLine(item) {
  const cells = cellsOf(item);
  if (cells === null) return null;
  const unusual = new Set(item.unusual);
  const order = item.unusual.slice(0, SHOWN_CELLS);
  for (let k = 0; k < DATA.columns.length && order.length < SHOWN_CELLS; k++) if (!unusual.has(k)) order.push(k);
  const list = make("dl", { class: "cells" });
  for (const k of order) {
    list.append(make("div", { class: unusual.has(k) ? "unusual" : "", title: unusual.has(k) ? "differs from most of its neighbours" : null },
      make("dt", { text: DATA.columns[k] }), make("dd", { text: cellText(cells[k]) })));
  }
  return list;
}

function neighborText(near, item) {
  const cells = cellsOf(near), own = cellsOf(item);
  if (cells === null || own === null) return near.snippet || near.id;
  const differs = near.differs.slice(0, SHOWN_DIFFERENCES).map((k) => `${DATA.columns[k]}: ${cellText(cells[k])} (here ${cellText(own[k])})`);
  const rest = near.differs.length - differs.length;
  if (!differs.length) return "much the same in every column";
  return differs.join(", ") + (rest > 0 ? `, and ${rest} more` : "");
}

function neighborList(item) {
  const { neighbors } = item;
  if (!neighbors.length) return make("span", { class: "muted", text: "none" });
  const hasPictures = neighbors.some((near) => near.thumbnail !== null);
  const list = make("ul", { class: hasPictures ? "near pictures" : "near lines" });
  if (hasPictures) list.append(...neighbors.map((near) => make("li", { title: near.id }, picture(near.thumbnail, near.id, "tiny"), make("strong", { text: named(near.label) }))));
  else list.append(...neighborLines(item));
  return list;
}

// Neighbours with the same label and text share a line.
function neighborLines(item) {
  const lines = new Map(); // label and text -> ids
  for (const near of item.neighbors) {
    const key = JSON.stringify([named(near.label), neighborText(near, item)]);
    lines.set(key, [...(lines.get(key) ?? []), near.id]);
  }
  return [...lines].map(([key, ids]) => {
    const [label, text] = JSON.parse(key);
    const many = ids.length > 1 ? `, ${ids.length} neighbours: ` : ": ";
    return make("li", { title: ids.join(", ") }, make("span", {}, make("strong", { text: label }), many + text));
  });
}

// All columns, the example and its neighbours.
function comparison(item) {
  const near = item.neighbors.filter((one) => cellsOf(one) !== null);
  const head = make("tr", {}, make("th", { scope: "col", text: "column" }), make("th", { scope: "col", text: "this example" }));
  for (const one of near) head.append(make("th", { scope: "col", title: one.id }, named(one.label), make("span", { class: "muted", text: one.id })));
  const body = make("tbody");
  const differs = near.map((one) => new Set(one.differs));
  DATA.columns.forEach((name, k) => {
    const line = make("tr", {}, make("th", { scope: "row", text: name, title: name }),
      make("td", { text: cellText(cellsOf(item)[k]), class: item.unusual.includes(k) ? "unusual" : "" }));
    near.forEach((one, at) => line.append(make("td", { text: cellText(cellsOf(one)[k]), class: differs[at].has(k) ? "differs" : "" })));
    body.append(line);
  });
  return make("div", {}, make("p", { class: "muted small", text: `Marked: in the first column of values, what differs from most neighbours; in the others, what differs from this example (${DATA.marked}).` }),
    scrollBox(`All columns of ${item.id} and its neighbours`, make("table", { class: "grid compared" }, make("thead", {}, head), body), true));
}

function exampleCell(item, more) {
  const shown = make("div", {}, make("div", { class: "id", text: item.id || "(empty id)", title: item.id }),
    item.snippet === null ? null : make("div", { class: "snippet", text: item.snippet }), cellLine(item), more);
  return make("td", {}, make("div", { class: "example" }, picture(item.thumbnail, item.id, "big"), shown));
}
