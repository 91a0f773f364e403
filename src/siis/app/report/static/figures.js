// How sure and how often right, the noise matrix, what selection tried, and the convergence.
const MOST_SHOWN = 40; // classes in a matrix; with more, the largest confusions are listed

function shade(cell, share) {
  // at most 40 %, so that the number stays readable
  cell.style.backgroundColor = `color-mix(in srgb, var(--shade) ${Math.round(40 * share)}%, var(--surface))`;
}

function reliabilityTable() {
  const bins = DATA.reliability, isKnown = DATA.trust.is_rate_known;
  const names = ["probability", "on average", "labels", "agree", "95 % interval", ...(isKnown ? ["expected"] : [])];
  const body = make("tbody");
  bins.labels.forEach((count, k) => {
    const given = bins.low[k] === 0 && bins.high[k] < 1 ? `below ${percent(bins.high[k])}` : `${(100 * bins.low[k]).toFixed(0)} to ${percent(bins.high[k])}`;
    const span = `${percent(bins.agreement_low[k])} to ${percent(bins.agreement_high[k])}`;
    const cells = [percent(bins.probability[k]), grouped(count), percent(bins.agreement[k]), span, ...(isKnown ? [percent(bins.expected[k])] : [])];
    body.append(make("tr", {}, make("th", { scope: "row", text: given }), ...cells.map((text) => make("td", { text }))));
  });
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col", text: name })));
  return make("table", { class: "grid" }, make("thead", {}, head), body);
}

function reliabilityPlot() {
  const { labels, probability, agreement, agreement_low: lows, agreement_high: highs, expected } = DATA.reliability;
  const isKnown = DATA.trust.is_rate_known;
  const width = 480, height = 320, left = 56, right = 24, top = 40, bottom = 44;
  const tenth = (values) => Math.min(0.9, Math.floor(10 * Math.min(...values)) / 10);
  const least = tenth(probability), lowest = tenth([...lows, ...(isKnown ? expected : [])]);
  const x = (share) => left + ((share - least) / (1 - least)) * (width - left - right);
  const y = (share) => top + ((1 - share) / (1 - lowest)) * (height - top - bottom);
  const plot = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": "Share of held-out labels that agree, by the probability of the answer" });
  const sentences = labels.map((count, k) => `At ${percent(probability[k])}, ${percent(agreement[k])} of ${grouped(count)} labels agree` + (isKnown ? `, expected ${percent(expected[k])}.` : "."));
  plot.append(draw("desc", { text: sentences.join(" ") }));
  const ticks = (from) => {
    const stride = from < 0.5 ? 2 : 1;
    return [...Array(11).keys()].filter((k) => k >= Math.round(10 * from) && (10 - k) % stride === 0).map((k) => k / 10);
  };
  for (const share of ticks(lowest)) {
    plot.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: y(share), y2: y(share) }));
    plot.append(draw("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end", text: percent(share) }));
  }
  for (const share of ticks(least)) plot.append(draw("text", { x: x(share), y: height - bottom + 18, "text-anchor": "middle", text: percent(share) }));
  plot.append(draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", text: "probability of the answer" }));
  plot.append(draw("circle", { class: "dot", cx: left + 6, cy: 16, r: 3.5 }), draw("line", { class: "line", x1: left + 6, x2: left + 6, y1: 8, y2: 24 }));
  plot.append(draw("text", { x: left + 18, y: 20, text: "labels that agree, with a 95 % interval" }));
  if (isKnown) {
    plot.append(draw("circle", { class: "wanted", cx: left + 270, cy: 16, r: 6.5 }), draw("text", { x: left + 284, y: 20, text: "expected" }));
    plot.append(draw("polyline", { class: "tol", points: expected.map((share, k) => `${x(probability[k])},${y(share)}`).join(" ") }));
    expected.forEach((share, k) => plot.append(draw("circle", { class: "wanted", cx: x(probability[k]), cy: y(share), r: 6.5 })));
  }
  agreement.forEach((share, k) => {
    const at = x(probability[k]);
    plot.append(draw("line", { class: "line", x1: at, x2: at, y1: y(lows[k]), y2: y(highs[k]) }));
    plot.append(draw("circle", { class: "dot", cx: at, cy: y(share), r: 3.5 }));
  });
  return plot;
}

function showReliability() {
  byId("reliability-body").append(reliabilityPlot(), scrollBox("Calibration: probability and accuracy", reliabilityTable(), false));
}

function noiseTable() {
  const { matrix, class_rates: rates } = DATA.noise;
  const { classes } = DATA;
  const head = make("tr", {}, make("th", { scope: "col", text: "given ↓ true →" }));
  for (const name of classes) head.append(make("th", { scope: "col", text: name, title: name }));
  head.append(make("th", { scope: "col", text: "wrong labels" }));
  const body = make("tbody");
  matrix.forEach((shares, given) => {
    const line = make("tr", {}, make("th", { scope: "row", text: classes[given], title: classes[given] }));
    shares.forEach((share, truth) => {
      const cell = make("td", { text: share < 0.005 ? "·" : (100 * share).toFixed(0), class: given === truth ? "diagonal" : "" });
      cell.title = `true ${classes[truth]}, given ${classes[given]}: ${percent(share)}`;
      shade(cell, share);
      line.append(cell);
    });
    line.append(make("td", { text: rates[given] === null ? "unknown" : percent(rates[given]) }));
    body.append(line);
  });
  return make("table", { class: "grid" }, make("thead", {}, head), body);
}

function confusionTable() {
  const { matrix } = DATA.noise;
  const pairs = [];
  matrix.forEach((shares, given) => shares.forEach((share, truth) => { if (given !== truth && share > 0) pairs.push([share, truth, given]); }));
  pairs.sort((a, b) => b[0] - a[0] || a[1] - b[1] || a[2] - b[2]);
  const body = make("tbody");
  for (const [share, truth, given] of pairs.slice(0, 50)) {
    body.append(make("tr", {}, make("td", { text: DATA.classes[truth] }), make("td", { text: DATA.classes[given] }), make("td", { text: percent(share) })));
  }
  const head = make("tr", {}, ...["true class", "is given as", "how often"].map((name) => make("th", { scope: "col", text: name })));
  return make("table", { class: "grid" }, make("thead", {}, head), body);
}

function showNoise() {
  const box = byId("noise-body");
  const isSmall = DATA.classes.length <= MOST_SHOWN;
  const meaning = isSmall
    ? "Each column is a true class; its numbers say in percent how often it is given which label (a dot: less than half a percent). The last column says how many of the labels of a class are wrong."
    : `There are more than ${MOST_SHOWN} classes: the 50 largest confusions are listed.`;
  box.append(make("p", { class: "muted", text: meaning }), scrollBox("Noise matrix", isSmall ? noiseTable() : confusionTable(), false));
}

function showSelection() {
  const { columns, rows } = DATA.selection;
  const chosen = columns.indexOf("chosen");
  const text = (value) => {
    if (value === null) return "–";
    if (typeof value === "boolean") return value ? "yes" : "";
    return typeof value === "number" ? String(Number(value.toPrecision(4))) : value;
  };
  const head = make("tr", {}, ...columns.map((name) => make("th", { scope: "col", text: name.replaceAll("_", " ") })));
  const body = make("tbody");
  for (const cells of rows) {
    body.append(make("tr", { class: chosen >= 0 && cells[chosen] === true ? "chosen" : "" }, ...cells.map((value) => make("td", { text: text(value), class: typeof value === "string" ? "word" : "" }))));
  }
  byId("selection-body").append(scrollBox("Model selection", make("table", { class: "grid" }, make("thead", {}, head), body), true));
}

// Where the word "tolerance" stands above or below its line without the curve running through it.
function freePlace(curve, left, right, line) {
  const WIDTH = 80, HEIGHT = 18;
  const isFree = ([from, top]) => curve.every(([x1, y1], k) => {
    const [x0, y0] = curve[Math.max(k - 1, 0)];
    for (let share = 0; share <= 1; share += 0.01) {
      const x = x0 + share * (x1 - x0), y = y0 + share * (y1 - y0);
      if (x > from - 6 && x < from + WIDTH + 6 && y > top - 6 && y < top + HEIGHT + 6) return false;
    }
    return true;
  });
  const places = [];
  for (const from of [right - WIDTH, left + 6, (left + right - WIDTH) / 2]) places.push([from, line - HEIGHT - 3], [from, line + 3]);
  const [from, top] = places.find(isFree) || places[0];
  return { x: from + WIDTH, y: top + HEIGHT - 4, "text-anchor": "end" };
}

function showConvergence() {
  const { iteration, gap } = DATA.convergence;
  const box = byId("convergence-body");
  const points = iteration.map((at, k) => [at, gap[k]]).filter(([, value]) => value !== null && value > 0);
  if (!points.length) {
    box.append(make("p", { class: "note", text: "Not applicable: there is no positive gap to draw." }));
    return;
  }
  const width = 640, height = 300, left = 64, right = 16, top = 16, bottom = 44;
  const logs = points.map(([, value]) => Math.log10(value)).concat(Math.log10(DATA.trust.tol));
  const low = Math.floor(Math.min(...logs)), high = Math.max(low + 1, Math.ceil(Math.max(...logs)));
  const last = Math.max(1, ...points.map(([at]) => at));
  const x = (at) => left + (at / last) * (width - left - right);
  const y = (log) => top + ((high - log) / (high - low)) * (height - top - bottom);
  const title = `Relative gap by iteration, from ${points[0][1].toExponential(1)} to ${points[points.length - 1][1].toExponential(1)}`;
  const plot = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": title });
  const stride = Math.max(1, Math.ceil((high - low) / 8));
  for (let power = low; power <= high; power += stride) {
    plot.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: y(power), y2: y(power) }));
    plot.append(draw("text", { x: left - 8, y: y(power) + 4, "text-anchor": "end", text: `1e${power}` }));
  }
  for (let k = 0; k <= 4; k++) {
    const at = Math.round((last * k) / 4);
    plot.append(draw("text", { x: x(at), y: height - bottom + 18, "text-anchor": "middle", text: grouped(at) }));
  }
  plot.append(draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", text: "iteration" }));
  const tol = Math.log10(DATA.trust.tol);
  plot.append(draw("line", { class: "tol", x1: left, x2: width - right, y1: y(tol), y2: y(tol) }));
  plot.append(draw("text", { ...freePlace(points.map(([at, value]) => [x(at), y(Math.log10(value))]), left, width - right, y(tol)), text: "tolerance" }));
  plot.append(draw("polyline", { class: "line", points: points.map(([at, value]) => `${x(at)},${y(Math.log10(value))}`).join(" ") }));
  if (points.length <= 60) for (const [at, value] of points) plot.append(draw("circle", { class: "dot", cx: x(at), cy: y(Math.log10(value)), r: 3.5 }));
  box.append(make("p", { class: "muted", text: "The relative gap is how far the objective can be above the best possible one." }), plot);
}

// left: what the lists and the map of a former page have given. Gives the map.
function startPage(left = {}) {
  startReview(left);
  const map = DATA.map === null ? null : startMap(left.map);
  if (DATA.reliability !== null) showReliability();
  if (DATA.noise !== null) showNoise();
  if (DATA.selection !== null) showSelection();
  showConvergence();
  return map;
}
