// The page while siis review serves it: decisions go to the server at once, and a new fit brings new lists into place.
const ASK = 1000, ASK_GONE = 5000; // milliseconds between two questions for news
const token = new URLSearchParams(location.search).get("token");
const known = { state: null, sent: Promise.resolve(), waiting: 0, unanswered: new Set(), failed: new Set(), trouble: "" }; // the sets: of ids
let shownMap = null;

async function request(path, body = null) {
  const headers = { "X-Siis-Token": token };
  if (body !== null) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method: body === null ? "GET" : "POST", headers, body: body === null ? null : JSON.stringify(body), cache: "no-store" });
  } catch {
    throw new Error("siis review does not answer: it has ended. Start it again, and open its new link");
  }
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

decisions.load = () => {};
decisions.kept = (id) => {
  const isMade = decisions.made.has(id);
  if (known.unanswered.has(id)) return "saving…";
  if (known.failed.has(id)) return isMade ? "saved; the change is not saved" : "your decision is not saved";
  return isMade ? "saved" : "";
};
decisions.newClass = () => "A new class comes in with siis corrections.";
decisions.progress = (made, all) => {
  const gone = decisions.order.filter((id) => !PLACES.has(id)).length; // fitted, and so not listed any more
  return [`${grouped(made + gone)} decided, ${grouped(all - made)} left in this list`, made + gone, all + gone];
};

// One after the other, so that the newest comes last.
decisions.save = (id, decision, label) => {
  known.waiting += 1;
  known.unanswered.add(id);
  known.sent = known.sent.then(async () => {
    try {
      known.state = await (await request("decisions", { id, decision, label })).json();
      known.failed.delete(id);
      known.trouble = "";
    } catch (problem) {
      known.failed.add(id);
      known.trouble = `Not saved, what was decided for ${id}: ${problem.message}.`;
    }
    known.waiting -= 1;
    if (known.waiting > 0) return;
    known.unanswered.clear();
    take(known.state);
    for (const listener of decisions.listeners) listener();
  });
  for (const listener of decisions.listeners) listener();
  showState();
};

function take(state) {
  known.state = state;
  if (JSON.stringify(decisions.rows()) !== JSON.stringify(state.decisions)) {
    decisions.set(state.decisions);
    for (const list of lists) list.refresh();
  }
  showState();
}

function showState() {
  const { state, trouble } = known, bar = byId("served"), count = decisions.order.length;
  const many = count === 1 ? "1 decision is" : `${grouped(count)} decisions are`;
  let text = count ? `${many} saved in ${state.file}.` : "Nothing is decided yet.";
  if (trouble) text = trouble;
  else if (known.waiting) text = "Saving…";
  else if (state.failed) text += ` The new fit failed: ${state.failed} The list is the former one.`;
  else if (state.report !== document.body.dataset.digest) text += " A new list is ready: it comes when you leave what you are typing.";
  else if (!state.isFitted) text += " Fitting anew with what you decided…";
  else if (count) text += " The list takes all of it in.";
  if (bar.textContent !== text) bar.textContent = text;
  bar.classList.toggle("warn", Boolean(trouble || state.failed));
  showDecided();
}

function showDecided() {
  const rows = decisions.rows().reverse();
  byId("decided-text").textContent = rows.length ? `${grouped(rows.length)} in all, the newest first. What is fitted leaves the lists above; here it can be taken back.` : "Nothing is decided yet.";
  byId("decided-table").hidden = !rows.length;
  byId("decided-rows").replaceChildren(...rows.map(([id, decision, label]) => make("tr", {},
    make("th", { scope: "row", text: id || "(empty id)" }), make("td", { text: named(label) }), make("td", { text: decision }),
    make("td", {}, make("button", { type: "button", text: "Undo", "aria-label": `Take back the decision for ${id}`, on: { click: () => { decisions.undo(id); for (const list of lists) list.refresh(); } } })))));
}

// Nothing is taken from under somebody who types, chooses, or moves the map.
const isBusy = () => known.waiting > 0 || isTyped(document.activeElement) || lists.some((list) => list.isChoosing()) || Boolean(shownMap?.isDragged());

// What must stay where it is on the screen: the row under the pointer, else the current one, else the section.
function anchor() {
  const isSeen = (node) => node && node.getBoundingClientRect().bottom > SEEN && node.getBoundingClientRect().top < window.innerHeight;
  const row = document.querySelector(".review tr[data-place]:hover") ?? lists.map((list) => list.currentRow()).find(isSeen);
  if (row) {
    const list = lists.find((one) => one.rows.contains(row)), id = ITEMS[row.dataset.place].id;
    return { top: row.getBoundingClientRect().top, find: () => byId(list.rows.id)?.querySelector(`tr[data-place="${PLACES.get(id)}"]`) ?? lists.find((one) => one.name === list.name)?.currentRow() };
  }
  const section = [...document.querySelectorAll("section")].find(isSeen);
  return { top: section.getBoundingClientRect().top, find: () => byId(section.id) };
}

function renew(fresh) {
  const held = anchor(), { activeElement: focused } = document;
  const inside = lists.find((list) => list.rows.contains(focused))?.name, focusedId = focused.id;
  const left = Object.fromEntries(lists.map((list) => [list.name, list.leave()]));
  if (shownMap !== null) left.map = shownMap.leave();
  const isOpen = Object.fromEntries([...document.querySelectorAll("section > details")].map((box) => [box.parentNode.id, box.open]));
  const areKeysShown = byId("keys") && !byId("keys").hidden;
  DATA = JSON.parse(fresh.getElementById("data").textContent);
  document.body.dataset.digest = fresh.body.dataset.digest;
  readItems();
  fresh.querySelector("noscript").remove();
  for (const part of ["nav", "main"]) document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)));
  shownMap = startPage(left);
  for (const box of document.querySelectorAll("section > details")) box.open = isOpen[box.parentNode.id];
  if (areKeysShown && byId("keys")) toggleKeys();
  const again = held.find();
  if (again) window.scrollBy({ top: again.getBoundingClientRect().top - held.top, behavior: "instant" });
  if (inside) lists.find((list) => list.name === inside)?.currentRow()?.focus({ preventScroll: true });
  else if (focusedId) byId(focusedId)?.focus({ preventScroll: true });
  showState();
}

async function watch() {
  try {
    const answer = await request(`state?known=${known.state.number}`);
    const news = answer.status === 204 ? known.state : await answer.json();
    if (known.waiting === 0) {
      if (known.trouble && !known.trouble.startsWith("Not saved")) known.trouble = "";
      take(news);
      if (news.report !== document.body.dataset.digest && !isBusy()) {
        const fresh = new DOMParser().parseFromString(await (await request("./")).text(), "text/html");
        if (!isBusy()) renew(fresh);
      }
    }
    setTimeout(watch, ASK);
  } catch (problem) {
    if (!known.trouble) known.trouble = `${problem.message}. All decisions that were shown as saved are.`;
    showState();
    setTimeout(watch, ASK_GONE);
  }
}

(async () => {
  try {
    known.state = await (await request("state")).json();
  } catch (problem) {
    byId("served").textContent = problem.message;
    return;
  }
  decisions.set(known.state.decisions);
  shownMap = startPage();
  listenToKeys();
  showState();
  setTimeout(watch, ASK);
})();
