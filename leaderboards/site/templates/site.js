(() => {
  "use strict";
  const root = document.documentElement;

  /* The theme is remembered where the browser lets a page remember anything. */
  const KEY = "lockstep-theme", THEMES = ["auto", "light", "dark"];
  let theme = "auto";
  try { theme = localStorage.getItem(KEY) || theme; } catch { /* not allowed: the system's */ }
  const wear = () => { root.dataset.theme = THEMES.includes(theme) ? theme : "auto"; };
  wear();

  function dressUp(button) {
    const say = () => { button.textContent = `Theme: ${root.dataset.theme}`; };
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
      try { localStorage.setItem(KEY, theme); } catch { /* it lasts until the page is left */ }
      wear();
      say();
    });
    say();
  }

  /* What the reader chose is in the address, so that it can be reloaded, gone back to and sent to others. */
  let state = new URLSearchParams(location.search);
  function remember(name, value, usual = "") {
    if (value === usual) state.delete(name); else state.set(name, value);
    const query = state.toString();
    history.replaceState(null, "", location.pathname + (query ? `?${query}` : "") + location.hash);
  }

  /* Filters: an element of class "item" is shown unless it says something else than what was chosen. What belongs to a
     single choice (data-only) is shown for that one alone. A search shows what has any of its words. */
  const controls = () => [...document.querySelectorAll("[data-filter]")];
  const words = (text) => text.toLowerCase().split(/[\s,]+/).filter(Boolean);

  function agrees(has, wanted, control) {
    if (control.type !== "search") return has === wanted;
    return !words(wanted).length || words(wanted).some((word) => has.toLowerCase().includes(word));
  }

  function filter() {
    const chosen = controls().filter((control) => control.value);
    for (const item of document.querySelectorAll("main .item")) {
      item.hidden = chosen.some((control) => {
        const has = item.dataset[control.dataset.filter];
        return has !== undefined && !agrees(has, control.value, control);
      }) || (item.dataset.only !== undefined && !chosen.some((control) => control.dataset.filter === item.dataset.only));
    }
    for (const table of document.querySelectorAll("table[data-board]")) {
      const hidden = [...table.tHead.rows[0].cells].map((cell) => cell.hidden);
      for (const row of table.tBodies[0].rows) hidden.forEach((away, place) => { row.cells[place].hidden = away; });
    }
    for (const place of document.querySelectorAll(".count")) {
      const key = document.querySelector("main tr.item[data-method]") ? "method" : "dataset";
      const names = (rows) => new Set([...rows].map((row) => row.dataset[key])).size;
      const rows = [...document.querySelectorAll("main table[data-board] tbody tr.item")];
      const left = rows.filter((row) => !row.closest("[hidden]"));
      const what = key === "method" ? "methods" : "data sets";
      const search = document.querySelector("input[data-filter]").value.trim();
      const missing = words(search).filter((word) => ![...rows].some((row) => agrees(row.dataset[key], word, { type: "search" })));
      const nothing = missing.length ? `; nothing is called ${missing.map((word) => `“${word}”`).join(" or ")}` : "";
      place.textContent = `${names(left)} of ${names(rows)} ${what} shown${nothing}`;
    }
  }

  function setUpFilters() {
    for (const control of controls()) {
      const name = control.dataset.filter;
      const usual = control.dataset.first || "";
      control.value = state.get(name) ?? usual;
      control.addEventListener("input", () => { remember(name, control.value, usual); filter(); });
    }
    for (const bar of document.querySelectorAll(".filters")) bar.hidden = false;
    filter();
  }

  /* Sorting: rows that belong to the one above them (published numbers of a measured method) stay with it. */
  function groups(table) {
    const found = [];
    for (const row of table.tBodies[0].rows) {
      if (row.classList.contains("below") && found.length) found[found.length - 1].push(row);
      else found.push([row]);
    }
    return found;
  }

  function worth(row, place) {
    const cell = row.cells[place];
    if (cell.tagName === "TH") return cell.textContent.trim().toLowerCase();
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value.replace("inf", "Infinity"));
  }

  function sort(table, heading, direction) {
    const place = heading.cellIndex, sign = direction === "descending" ? -1 : 1;
    const keyed = groups(table).map((rows) => [worth(rows[0], place), rows]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (a < b ? -1 : a > b ? 1 : 0);
    });
    table.tBodies[0].append(...keyed.flatMap(([, rows]) => rows));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
  }

  const keyOf = (heading) => heading.dataset.key || heading.dataset.metric || heading.dataset.dataset;

  function setUpSorting(table) {
    const name = `sort.${table.dataset.board}`;
    const [wanted, way] = (state.get(name) || "").split("~");
    for (const heading of table.querySelectorAll("thead th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...[...heading.childNodes].filter((node) => !node.classList?.contains("second")));
      heading.prepend(button);
      const first = heading.dataset.sort === "desc" ? "descending" : "ascending";
      button.addEventListener("click", () => {
        const now = heading.getAttribute("aria-sort");
        const next = !now ? first : now === "ascending" ? "descending" : "ascending";
        sort(table, heading, next);
        remember(name, `${keyOf(heading)}~${next}`);
      });
      if (wanted && keyOf(heading) === wanted) sort(table, heading, way === "descending" ? way : "ascending");
    }
  }

  /* A link to what is behind a number opens it, in browsers that do not do so themselves. */
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = target && target.closest("details");
    if (!details) return;
    for (let one = target; one; one = one.parentElement) if (one.classList.contains("item")) one.hidden = false;
    details.open = true;
    details.scrollIntoView();
  }

  /* What is wider than its place says so. */
  function tellOfMore() {
    const look = (place) => place.classList.toggle("more", place.scrollWidth > place.clientWidth + 1);
    /* In the next frame, since to say so makes a place higher, which must not be observed while it is. */
    const observer = new ResizeObserver((all) => requestAnimationFrame(() => all.forEach((one) => look(one.target))));
    for (const place of document.querySelectorAll(".scroll")) observer.observe(place);
  }

  document.addEventListener("DOMContentLoaded", () => {
    dressUp(document.getElementById("theme"));
    for (const table of document.querySelectorAll("table[data-board]")) setUpSorting(table);
    setUpFilters();
    tellOfMore();
    reveal();
    addEventListener("hashchange", reveal);
  });
})();
