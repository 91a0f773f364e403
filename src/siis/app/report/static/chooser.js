// Choosing a class by typing: letters only narrow the list down; Enter or a click decides, Escape or leaving does not.
const MOST_OPTIONS = 50;
const folded = (text) => text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();

// The name itself first, then names that begin so, then names of which a word does, then those that hold it.
function matching(typed) {
  const wanted = folded(typed), found = [];
  DATA.folded ??= DATA.classes.map(folded);
  DATA.folded.forEach((name, code) => {
    let rank = 5;
    if (DATA.classes[code] === typed) rank = 0;
    else if (name === wanted) rank = 1;
    else if (name.startsWith(wanted)) rank = 2;
    else {
      const at = name.indexOf(wanted);
      if (at < 0) return;
      rank = /[\p{L}\p{N}]/u.test(name[at - 1]) ? 4 : 3;
    }
    found.push([rank, code]);
  });
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, code]) => code);
}

// Puts itself into the host, and takes itself out again; `choose` gets the name, `cancel` gets whether to go back.
function openChooser(host, item, choose, cancel) {
  let found = [], active = -1, isOpen = true;
  const input = make("input", {
    type: "text", role: "combobox", "aria-label": `Class for ${item.id}`, "aria-expanded": "true", "aria-controls": "choices",
    "aria-autocomplete": "list", autocomplete: "off", autocapitalize: "off", spellcheck: "false", placeholder: "type a class",
  });
  const list = make("ul", { id: "choices", role: "listbox", "aria-label": "Classes" });
  const hint = make("p", { class: "hint small", role: "status", "aria-live": "polite" });
  const box = make("div", { class: "chooser" }, input, hint, list);

  function activate(at) {
    active = at;
    [...list.children].forEach((option, k) => option.setAttribute("aria-selected", String(k === at)));
    const option = list.children[at];
    if (option) {
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
    const left = found.length - list.children.length;
    if (!found.length) hint.textContent = `No class is called that. Escape: back, nothing changes. ${decisions.newClass(item.id, input.value.trim())}`;
    else if (option) hint.textContent = `Enter: ${change(item.given, DATA.classes[found[at]])}`;
    else hint.textContent = `${grouped(found.length)} classes` + (left > 0 ? `, ${MOST_OPTIONS} of them shown: type to find others` : "");
  }

  function narrow() {
    found = matching(input.value);
    list.replaceChildren(...found.slice(0, MOST_OPTIONS).map((code) => make("li", {
      id: `choice-${code}`, role: "option", "aria-selected": "false", text: named(DATA.classes[code]), title: DATA.classes[code],
      on: { pointerdown: (event) => event.preventDefault(), click: (event) => { event.stopPropagation(); commit(code); } }, // the focus stays in the input, the next row current
    })));
    list.hidden = !found.length;
    activate(folded(input.value) === "" || !found.length ? -1 : 0);
  }

  function close() {
    isOpen = false;
    box.remove();
  }

  function commit(code) {
    close();
    choose(DATA.classes[code]);
  }

  input.addEventListener("input", narrow);
  input.addEventListener("keydown", (event) => {
    event.stopPropagation(); // whatever is typed here is no shortcut
    if (event.isComposing || !isPlainKey(event)) return;
    const last = list.children.length - 1;
    if (event.key === "ArrowDown") activate(active >= last ? 0 : active + 1);
    else if (event.key === "ArrowUp") activate(active <= 0 ? last : active - 1);
    else if (event.key === "Enter") { if (active >= 0) commit(found[active]); }
    else if (event.key === "Escape") { close(); cancel(true); }
    else return;
    event.preventDefault();
  });
  box.addEventListener("focusout", (event) => {
    if (!isOpen || box.contains(event.relatedTarget)) return;
    close();
    cancel(false);
  });
  host.append(box);
  narrow();
  input.focus({ preventScroll: true });
  box.scrollIntoView({ block: "nearest" });
}
