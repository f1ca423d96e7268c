// The page: which part of it the address names, and how old it is.

const STALE_HOURS = 48;
const PAGE = readPage(document.getElementById("data").textContent);

function start() {
  const view = new TableView(PAGE);
  const overview = document.getElementById("overview");
  const one = document.getElementById("table");
  const title = document.title;

  function named() {
    const hash = window.location.hash.slice(1);
    try {
      return decodeURIComponent(hash);
    } catch (error) {
      return hash; // an address that somebody has cut or typed names no table
    }
  }

  function route(isFirst) {
    const name = named();
    const table = PAGE.tables.find((found) => found.name === name);
    overview.hidden = Boolean(table);
    one.hidden = !table;
    document.title = table ? `${table.name} · ${title}` : title;
    if (table) view.show(table);
    else hideTip();
    if (isFirst) return;
    window.scrollTo(0, 0);
    document.querySelector(table ? "#name" : "#overview h1").focus({ preventScroll: true });
  }
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // an address with #main would name a table
    document.getElementById("main").focus();
  });
  window.addEventListener("hashchange", () => route(false));
  window.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
  });
  startOverview(PAGE);
  showAge();
  route(true);
}

// A page does not change by itself: one that nobody writes any more says so.
function showAge() {
  const hours = (Date.now() - Date.parse(PAGE.written)) / 3600000;
  const age = document.getElementById("age");
  age.textContent = `, ${durationText(Math.max(0, hours * 3600))} ago`;
  document.body.classList.toggle("stale", hours > STALE_HOURS);
}

start();
