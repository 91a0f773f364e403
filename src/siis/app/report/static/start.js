"use strict";
// Text of the data becomes text nodes and attributes only; nothing here reads it as markup.
let DATA = JSON.parse(document.getElementById("data").textContent);

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const grouped = (count) => count.toLocaleString("en");

function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return (value > 0 && value < 10 ? value.toFixed(1) : value.toFixed(0)) + " %";
}

function scrollBox(label, content, isTall) {
  return make("div", { class: isTall ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": label }, content);
}

function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The browser's own menus and other programs' keys stay theirs.
const isPlainKey = (event) => !(event.ctrlKey || event.metaKey || event.altKey);
