// Elements of the page. Texts are set as texts, never as HTML, so that no name can become markup.

function el(tag, options, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options || {})) {
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (name === "class") node.className = value;
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

function timeText(text) {
  return text ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : "not known";
}

function countText(number, noun) {
  if (number === null || number === undefined) return `${noun}s not known`;
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

function durationText(seconds) {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  for (const [unit, length] of units) if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${unit}s`;
  return `${Math.max(0, Math.round(seconds))} seconds`;
}

function sizeText(size) {
  if (size === null || size === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let power = 0;
  let left = size;
  while (left >= 1000 && power < units.length - 1) {
    left /= 1000;
    power += 1;
  }
  return `${power ? left.toFixed(1) : left} ${units[power]}`;
}

function mark(kind, count) {
  const { sign, title } = KINDS[kind];
  const text = count === undefined ? title : `${title} ${count.toLocaleString("en-US")}`;
  return el("span", { class: "mark" }, el("span", { class: `sign k-${kind}`, "aria-hidden": "true" }, sign), text);
}

// A list or a table that shows its first items, and more of them where they are asked for: a table may have 900 versions.
function pagedItems(list, items, make, step, empty, around = list) {
  if (!items.length) return el("p", { class: "quiet" }, empty);
  const more = el("button", { type: "button", class: "more", on: { click: () => show() } });
  let shown = 0;
  function show() {
    list.append(...items.slice(shown, shown + step).map(make));
    shown = Math.min(items.length, shown + step);
    more.hidden = shown >= items.length;
    more.textContent = `Show ${Math.min(step, items.length - shown)} more of ${items.length.toLocaleString("en-US")}`;
  }
  show();
  return el("div", { class: "paged" }, around, more);
}

function pagedTable(heads, rows, cells, step, empty) {
  const body = el("tbody");
  const names = heads.map(([text, kind]) => el("th", { scope: "col", class: kind || "" }, text));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...names)), body);
  const around = el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Rows" }, table);
  return pagedItems(body, rows, (row) => el("tr", {}, ...cells(row)), step, empty, around);
}
