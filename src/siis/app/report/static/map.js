// The map: class by colour and shape, given labels ringed, suspects crossed.
const COLORS = ["#2f7fd1", "#d1621b", "#2e9457", "#c2478f", "#8a6fd8", "#a8862a", "#1f95a3", "#d64b4b", "#7a8794", "#6f9a24"];
const SHAPES = [
  [[1, 0]], // a circle; the others are polygons
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  [[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]],
  [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
  [[0, -1.2], [1.15, -0.35], [0.7, 1], [-0.7, 1], [-1.15, -0.35]],
];
const PAD = 24;
const NAME_HEIGHT = 18;
const LONG_NAME = 12; // letters of a class from which on the legend has one column
const MOST_NAMED = 40; // classes whose names are written on the map

function tracePath(context, shape, x, y, radius) {
  if (shape.length === 1) {
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  shape.forEach(([dx, dy], k) => context[k ? "lineTo" : "moveTo"](x + dx * radius, y + dy * radius));
  context.closePath();
}

function legendMark(code) {
  const shape = SHAPES[code % SHAPES.length];
  const fill = COLORS[code % COLORS.length];
  const mark = shape.length === 1
    ? draw("circle", { cx: 8, cy: 8, r: 5, fill })
    : draw("polygon", { points: shape.map(([x, y]) => `${8 + 5 * x},${8 + 5 * y}`).join(" "), fill });
  return draw("svg", { width: 16, height: 16, "aria-hidden": "true" }, mark);
}

// The example of a class that lies closest to the middle of the class: its name is written there.
function middle(map, code) {
  const members = [];
  for (let i = 0; i < map.x.length; i++) if (map.predicted[i] === code) members.push(i);
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  const x = median(members.map((i) => map.x[i])), y = median(members.map((i) => map.y[i]));
  const far = (i) => (map.x[i] - x) ** 2 + (map.y[i] - y) ** 2;
  return members.reduce((best, i) => (best < 0 || far(i) < far(best) ? i : best), -1);
}

// Names that lie over each other are moved apart, or left out where that does not help: earlier ones go before.
// names: {x, y, width}, their middles; gives the y of each, or null.
function namePlaces(names) {
  const placed = [];
  return names.map(({ x, y, width }) => {
    const collides = (at) => placed.some((other) => Math.abs(other.x - x) < (other.width + width) / 2 + 4 && Math.abs(other.y - at) < NAME_HEIGHT);
    const free = [0, -1, 1, -2, 2].map((k) => y + k * NAME_HEIGHT).find((at) => !collides(at));
    if (free === undefined) return null;
    placed.push({ x, y: free, width });
    return free;
  });
}

// Names of at most so many letters that still differ where the names do: cut at the end; where that leaves several the
// same, cut at both ends of where they part; else the whole name.
function shortNames(names, most) {
  const cut = (name, from) => (name.length - from <= most ? (from ? "…" : "") + name.slice(from) : (from ? "…" : "") + name.slice(from, from + most - 1) + "…");
  const alike = (short) => {
    const groups = new Map();
    short.forEach((text, k) => groups.set(text, [...(groups.get(text) ?? []), k]));
    return [...groups.values()].filter((group) => group.length > 1);
  };
  const short = names.map((name) => cut(name, 0));
  for (const group of alike(short)) {
    let same = 0;
    while (group.every((k) => names[k][same] === names[group[0]][same])) same++;
    for (const k of group) short[k] = cut(names[k], Math.max(0, same - 3));
  }
  for (const group of alike(short)) for (const k of group) short[k] = names[k];
  return short;
}

// left: what the former map's `leave` has given, where a new one takes its place.
function startMap(left = null) {
  const { map, classes } = DATA;
  const canvas = byId("map-canvas");
  const context = canvas.getContext("2d");
  const count = map.x.length;
  const isOn = classes.map((name) => !left?.off.includes(name));
  const view = { zoom: 1, x: 0.5, y: 0.5, ...left?.view };
  const ended = new AbortController(), { signal } = ended;
  const written = shortNames(classes, 16);
  const anchors = classes.length <= MOST_NAMED ? classes.map((_, code) => middle(map, code)) : [];
  let only = left?.only ?? "all";
  let current = left ? map.ids.indexOf(left.id) : -1;
  let scheduled = false;

  const isShown = (i) =>
    isOn[map.predicted[i]] && (only === "all" || (only === "given" ? map.given[i] >= 0 : map.suspect[i] >= 0));

  function place(i) {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const side = (Math.min(width, height) - 2 * PAD) * view.zoom;
    return [width / 2 + (map.x[i] / 9999 - view.x) * side, height / 2 + (view.y - map.y[i] / 9999) * side];
  }

  function paint() {
    scheduled = false;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    const ink = cssColor("--text"), mark = cssColor("--mark"), ground = cssColor("--bg");
    const side = Math.min(width, height) - 2 * PAD;
    const small = Math.min(5, Math.max(1.5, 0.21 * side * Math.sqrt(view.zoom / count))); // as close as they lie
    const big = Math.min(1, Math.max(0.65, side / 560)); // rings and crosses on a small screen
    const groups = classes.map(() => []);
    const ringed = [], crossed = [];
    for (let i = 0; i < count; i++) {
      if (!isShown(i)) continue;
      const at = place(i);
      if (at[0] < -9 || at[1] < -9 || at[0] > width + 9 || at[1] > height + 9) continue;
      (map.given[i] >= 0 ? ringed : groups[map.predicted[i]]).push([at, i]);
      if (map.suspect[i] >= 0) crossed.push(at);
    }
    context.globalAlpha = 0.75;
    groups.forEach((points, code) => {
      context.beginPath();
      for (const [[x, y]] of points) tracePath(context, SHAPES[code % SHAPES.length], x, y, small);
      context.fillStyle = COLORS[code % COLORS.length];
      context.fill();
    });
    context.globalAlpha = 1;
    for (const [[x, y], i] of ringed) {
      const code = map.predicted[i];
      context.beginPath();
      context.arc(x, y, 6.5 * big, 0, 2 * Math.PI);
      context.fillStyle = ground;
      context.fill();
      context.lineWidth = 1.2;
      context.strokeStyle = ink;
      context.stroke();
      context.beginPath();
      tracePath(context, SHAPES[code % SHAPES.length], x, y, 3.6 * big);
      context.fillStyle = COLORS[code % COLORS.length];
      context.fill();
    }
    context.lineWidth = 1.6;
    context.strokeStyle = mark;
    context.beginPath();
    for (const [x, y] of crossed) {
      const arm = 5 * big;
      context.moveTo(x - arm, y - arm); context.lineTo(x + arm, y + arm);
      context.moveTo(x - arm, y + arm); context.lineTo(x + arm, y - arm);
    }
    context.stroke();
    context.font = "600 14px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineJoin = "round";
    const names = [];
    anchors.forEach((i, code) => {
      if (i < 0 || !isOn[code]) return;
      const [x, y] = place(i), name = written[code];
      names.push({ name, x, y: y + 5, width: context.measureText(name).width });
    });
    namePlaces(names).forEach((y, k) => {
      if (y === null) return;
      const { name, x } = names[k];
      context.lineWidth = 4;
      context.strokeStyle = ground;
      context.strokeText(name, x, y);
      context.fillStyle = ink;
      context.fillText(name, x, y);
    });
    if (current >= 0) {
      const [x, y] = place(current);
      context.beginPath();
      context.arc(x, y, 12, 0, 2 * Math.PI);
      context.lineWidth = 3;
      context.strokeStyle = cssColor("--accent");
      context.stroke();
    }
  }

  function repaint() {
    if (!scheduled) requestAnimationFrame(paint);
    scheduled = true;
  }

  function select(i) {
    current = i;
    const box = byId("map-detail");
    box.replaceChildren();
    if (i < 0) {
      box.textContent = "Point at an example to see what it is.";
    } else {
      const given = map.given[i] < 0 ? "no label" : classes[map.given[i]];
      const facts = [["id", map.ids[i]], ["predicted", classes[map.predicted[i]]], ["given", given], ["probability", percent(map.probability[i])]];
      const list = make("dl");
      for (const [name, value] of facts) list.append(make("dt", { text: name }), make("dd", { text: value }));
      box.append(list);
      const image = picture(map.thumbnails[i], map.ids[i], "big");
      if (image !== null) box.append(image);
      if (map.snippets[i] !== null) box.append(make("p", { class: "snippet", text: map.snippets[i] }));
      if (map.suspect[i] >= 0) {
        box.append(make("button", { type: "button", text: "Suspect: review it", on: { click: () => openSuspect(map.suspect[i]) } }));
      }
    }
    repaint();
  }

  function nearest(x, y, reach) {
    let best = -1, least = reach * reach;
    for (let i = 0; i < count; i++) {
      if (!isShown(i)) continue;
      const [px, py] = place(i);
      // a ringed or crossed point lies on top of the others
      const far = (px - x) ** 2 + (py - y) ** 2 - (map.suspect[i] >= 0 ? 2 : map.given[i] >= 0 ? 1 : 0);
      if (far < least) [best, least] = [i, far];
    }
    return best;
  }

  // The closest shown example within 60 degrees of a direction, so that arrows reach every group.
  function step(dx, dy) {
    if (current < 0 || !isShown(current)) return select(nearest(canvas.clientWidth / 2, canvas.clientHeight / 2, Infinity));
    const [x, y] = place(current);
    let best = -1, least = Infinity;
    for (let i = 0; i < count; i++) {
      if (i === current || !isShown(i)) continue;
      const [px, py] = place(i);
      const along = (px - x) * dx + (py - y) * dy, across = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      if (along < 0.5 || across > 1.75 * along) continue;
      const cost = along + 2 * across;
      if (cost < least) [best, least] = [i, cost];
    }
    if (best < 0) return;
    const [px, py] = place(best);
    if (px < 0 || py < 0 || px > canvas.clientWidth || py > canvas.clientHeight) {
      [view.x, view.y] = [map.x[best] / 9999, map.y[best] / 9999];
    }
    select(best);
  }

  function zoom(factor) {
    view.zoom = Math.min(40, Math.max(1, view.zoom * factor));
    if (view.zoom === 1) [view.x, view.y] = [0.5, 0.5];
    else if (current >= 0 && factor > 1) [view.x, view.y] = [map.x[current] / 9999, map.y[current] / 9999];
    canvas.style.touchAction = view.zoom === 1 ? "pan-y" : "none";
    repaint();
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.offsetX, y: event.offsetY, at: { ...view }, moved: false }; });
  window.addEventListener("pointerup", () => { drag = null; }, { signal });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && view.zoom > 1) {
      const side = (Math.min(canvas.clientWidth, canvas.clientHeight) - 2 * PAD) * view.zoom;
      view.x = drag.at.x - (event.offsetX - drag.x) / side;
      view.y = drag.at.y + (event.offsetY - drag.y) / side;
      drag.moved = drag.moved || Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 4;
      repaint();
      return;
    }
    const found = nearest(event.offsetX, event.offsetY, 14);
    canvas.style.cursor = found >= 0 && map.suspect[found] >= 0 ? "pointer" : "crosshair";
    if (found >= 0 && found !== current) select(found);
  });
  canvas.addEventListener("click", (event) => {
    const found = nearest(event.offsetX, event.offsetY, 18);
    if (found >= 0) select(found);
  });
  canvas.addEventListener("dblclick", () => { if (current >= 0 && map.suspect[current] >= 0) openSuspect(map.suspect[current]); });
  const keys = {
    ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
    Enter: () => { if (current >= 0 && map.suspect[current] >= 0) openSuspect(map.suspect[current]); },
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: () => zoom(0),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!isPlainKey(event) || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("focus", () => { if (current < 0) step(0, 0); });
  byId("zoom-in").addEventListener("click", () => zoom(1.5));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
  byId("zoom-reset").addEventListener("click", () => zoom(0));
  for (const choice of document.getElementsByName("map-show")) {
    choice.checked = choice.value === only;
    choice.addEventListener("change", () => { only = choice.value; repaint(); });
  }

  const entries = classes.map((name, code) => {
    const entry = make("button", { type: "button", "aria-pressed": String(isOn[code]), title: name }, legendMark(code), make("span", { text: name || "(empty)" }));
    entry.addEventListener("click", () => turn(code, !isOn[code]));
    return entry;
  });
  function turn(code, on) {
    isOn[code] = on;
    entries[code].setAttribute("aria-pressed", String(on));
    if (current >= 0 && !isShown(current)) select(-1);
    repaint();
  }
  byId("legend").append(...entries);
  byId("legend").classList.toggle("long", classes.some((name) => name.length > LONG_NAME));
  byId("legend-all").addEventListener("click", () => classes.forEach((_, code) => turn(code, true)));
  byId("legend-none").addEventListener("click", () => classes.forEach((_, code) => turn(code, false)));
  const observer = new ResizeObserver(repaint);
  observer.observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint, { signal });
  paint();
  if (current >= 0) select(current);
  return {
    isDragged: () => drag !== null,
    leave() {
      ended.abort();
      observer.disconnect();
      return { view, only, off: classes.filter((_, code) => !isOn[code]), id: current < 0 ? null : map.ids[current] };
    },
  };
}
