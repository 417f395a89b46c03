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
    const preset = chosen.find((control) => control.dataset.filter === "preset");
    if (preset) for (const fold of document.querySelectorAll("details.fold")) fold.open ||= !fold.closest(".item").hidden;
    if (chosen.some((control) => ["method", "family"].includes(control.dataset.filter))) {
      for (const rest of document.querySelectorAll("details.rest")) rest.open = true;
    }
    for (const table of document.querySelectorAll("table[data-board]")) {
      const hidden = [...table.tHead.rows[0].cells].map((cell) => cell.hidden);
      for (const row of table.tBodies[0].rows) hidden.forEach((away, place) => { row.cells[place].hidden = away; });
    }
    for (const place of document.querySelectorAll(".count")) {
      const key = document.querySelector("main table[data-board] tr.item[data-method]") ? "method" : "dataset";
      const names = (rows) => new Set([...rows].map((row) => row.dataset[key])).size;
      const rows = [...document.querySelectorAll("main table[data-board] tbody tr.item")];
      const left = rows.filter((row) => !row.closest("[hidden]"));
      const what = key === "method" ? "methods" : "data sets";
      const search = (document.querySelector("input[data-filter]")?.value ?? "").trim();
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
      control.addEventListener("input", () => {
        remember(name, control.value, usual);
        if (name === "metric") sortBy(control.value);
        filter();
      });
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

  /* Tables that have a metric as a column are sorted by it when it is chosen. */
  function sortBy(metric) {
    for (const heading of document.querySelectorAll(`thead th[data-sort][data-metric="${CSS.escape(metric)}"]`)) {
      sort(heading.closest("table"), heading, heading.dataset.sort === "desc" ? "descending" : "ascending");
    }
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
    for (let one = target; one; one = one.parentElement) {
      if (one.classList.contains("item")) one.hidden = false;
      if (one.tagName === "DETAILS") one.open = true;
    }
    details.scrollIntoView();
  }

  /* What is wider than its place says so. */
  function tellOfMore() {
    const look = (place) => place.classList.toggle("more", place.scrollWidth > place.clientWidth + 1);
    /* In the next frame, since to say so makes a place higher, which must not be observed while it is. */
    const observer = new ResizeObserver((all) => requestAnimationFrame(() => all.forEach((one) => look(one.target))));
    for (const place of document.querySelectorAll(".scroll")) observer.observe(place);
  }

  /* Compare: paired differences to the first chosen method, as `stats.ranking` computes them. A mean over n splits whose
     tests are n_test / n_train = ratio as large as their training parts has the standard error s sqrt(1/n + ratio). */
  function interval(differences, ratio, quantiles) {
    const n = differences.length, mean = differences.reduce((a, b) => a + b, 0) / n;
    if (n < 2 || ratio === null) return { mean, low: NaN, high: NaN, n };
    const spread = Math.sqrt(differences.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1));
    const half = quantiles[n - 2] * spread * Math.sqrt(1 / n + ratio);
    return { mean, low: mean - half, high: mean + half, n };
  }

  const meanOf = (values) => values.reduce((a, b) => a + b, 0) / values.length;

  function onDataset(ours, theirs, ratio, byRatio, quantiles) {
    const both = ours.map((value, split) => [value, theirs[split]]).filter(([a, b]) => a !== null && b !== null);
    if (!both.length) return null;
    const m = meanOf(both.map(([a]) => a)), r = meanOf(both.map(([, b]) => b));
    const by = byRatio ? both.map(([a, b]) => Math.log(m / r) + a / m - b / r) : both.map(([a, b]) => a - b);
    return interval(by, ratio, quantiles);
  }

  function inWords(value, reach, byRatio) {
    const scaled = byRatio ? 100 * Math.expm1(value) : value, size = byRatio ? 100 * reach : reach;
    const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(size || Math.abs(scaled) || 1)), 0), 6);
    const text = Math.abs(scaled).toFixed(decimals) + (byRatio ? " %" : "");
    return (Number(scaled.toFixed(decimals)) === 0 ? "" : scaled < 0 ? "−" : "+") + text;
  }

  function compared({ metrics, ratios, quantiles }, name, methods) {
    const { values, unit } = metrics[name], byRatio = unit === "relative", [first, ...others] = methods;
    const sets = Object.keys(ratios).filter((set) => methods.some((method) => values[method]?.[set]) && values[first]?.[set]);
    const rows = sets.map((set) => [set, ...others.map((method) => values[method]?.[set]
      ? onDataset(values[method][set], values[first][set], ratios[set], byRatio, quantiles) : null)]);
    const over = others.map((_, place) => {
      const known = rows.map((row) => row[place + 1]).filter(Boolean).map(({ mean }) => mean);
      return known.length ? interval(known, 0, quantiles) : null;
    });
    return { rows, over, byRatio };
  }

  function setUpComparison() {
    const place = document.getElementById("compare-data");
    if (!place) return;
    const data = JSON.parse(place.textContent), controls_ = [...document.querySelectorAll("[data-compare]")];
    const [metric, ...choices] = controls_;
    const table = document.getElementById("compared"), answer = document.getElementById("compared-answer");
    const usual = ["map", "deep-ensemble"].every((name) => [...choices[0].options].some((one) => one.value === name))
      ? ["map", "deep-ensemble"] : [...choices[0].options].slice(1, 3).map((one) => one.value);
    const asked = (state.get("methods") || "").split(",").filter(Boolean);
    choices.forEach((choice, i) => { choice.value = (asked.length ? asked : usual)[i] || ""; });
    metric.value = state.get("metric") || metric.options[0].value;
    document.getElementById("comparison").hidden = false;

    const cell = (kind, text, row) => {
      const made = document.createElement(kind);
      made.textContent = text;
      if (kind === "th") made.scope = row ? "row" : "col";
      return made;
    };

    /* The difference and its interval, beside their numbers; the scale ends at reach on both sides of 0. */
    function drawn(one, reach) {
      const part = (kind, given) => {
        const made = document.createElementNS(document.getElementById("compared-figure").namespaceURI, kind);
        for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
        return made;
      };
      const at = (value) => `${50 + 50 * Math.max(-1, Math.min(1, value / reach))}%`;
      const kind = one.low > 0 || one.high < 0 ? "ahead" : "behind";
      const svg = part("svg", { class: "field", height: 20, "aria-hidden": "true", focusable: "false" });
      svg.append(part("line", { class: "zero", x1: "50%", x2: "50%", y1: 0, y2: 20 }));
      if (one.low === one.low) svg.append(part("line", { class: `bar ${kind}`, x1: at(one.low), x2: at(one.high), y1: 10, y2: 10 }));
      if (Math.abs(one.mean) <= reach) {
        svg.append(part("circle", { class: kind, cx: at(one.mean), cy: 10, r: 3.5 }));
      } else {
        const arrow = part("svg", { x: at(one.mean), y: 10, overflow: "visible" });
        arrow.append(part("path", { class: kind, d: one.mean < 0 ? "M6-4l-6 4 6 4z" : "M-6-4l6 4-6 4z" }));
        svg.append(arrow);
      }
      return svg;
    }

    /* The longest distance of an interval's end from 0, but for those far above the median one. */
    function scaleOf(all) {
      const ends = all.filter(Boolean).map(({ mean, low, high }) => Math.max(...[mean, low, high].filter((value) => value === value).map(Math.abs)));
      const middle = [...ends].sort((a, b) => a - b)[Math.floor(ends.length / 2)];
      return 1.05 * Math.max(...ends.filter((end) => end <= 4 * middle)) || 1;
    }

    function show() {
      const methods = [...new Set(choices.map((choice) => choice.value).filter(Boolean))];
      remember("methods", methods.join(","), usual.join(","));
      remember("metric", metric.value, metric.options[0].value);
      table.replaceChildren();
      answer.textContent = "";
      if (methods.length < 2) { answer.textContent = "Choose two methods."; return; }
      const { rows, over, byRatio } = compared(data, metric.value, methods), [first, ...others] = methods;
      const { phrase, unit, goal } = data.metrics[metric.value];
      const head = table.createTHead().insertRow();
      head.append(Object.assign(cell("th", "Data set"), { className: "corner" }), ...others.map((name) => cell("th", `${name} against ${first}${unit === "nats" ? ", nats" : ""}`)));
      const body = table.createTBody();
      const scale = scaleOf([...over, ...rows.flatMap(([, ...some]) => some)]);
      const write = (name, found) => {
        const row = body.insertRow();
        row.append(cell("th", name, true), ...found.map((one) => {
          if (!one) return cell("td", "not run");
          const reach = (one.high - one.low) / 2;
          const words = (value) => inWords(value, reach, byRatio);
          const made = cell("td", ""), box = document.createElement("div"), numbers = document.createElement("span");
          box.className = "dots interval";
          numbers.textContent = words(one.mean);
          box.append(drawn(one, scale), numbers);
          made.append(box);
          if (one.low === one.low) {
            const se = document.createElement("span");
            se.className = "se";
            se.textContent = ` ${words(one.low)} to ${words(one.high)}`;
            numbers.append(se);
            if (one.low > 0 || one.high < 0) made.classList.add((one.mean < 0) === (goal !== "high") ? "agrees" : "differs");
          }
          return made;
        }));
      };
      const nSets = Math.max(...over.map((one) => one?.n || 0));
      write(`Over ${nSets} data sets`, over);
      for (const [name, ...found] of rows) write(name, found);
      answer.textContent = others.map((name, i) => {
        const one = over[i];
        if (!one || one.low !== one.low) return `By ${phrase}, ${name} and ${first} cannot be compared over data sets.`;
        const open = one.low <= 0 && one.high >= 0;
        const better = (one.mean < 0) === (goal !== "high");
        return `By ${phrase} over ${one.n} data sets, ${open ? `there is too little evidence on ${name} against ${first}` : `${name} is ${better ? "better" : "worse"} than ${first}`}.`;
      }).join(" ");
    }

    for (const control of controls_) control.addEventListener("input", show);
    show();
  }

  /* The rows of a table that are shown, as CSV: numbers as they are sorted, standard errors in columns of their own. */
  function csvOf(table) {
    const shown = (one) => !one.hidden && !one.closest("[hidden]");
    const plain = (text) => text.replace(/\s+/g, " ").trim();
    const rows = [...table.rows].filter(shown).map((row) => [...row.cells].filter((one) => !one.hidden));
    const errors = new Set(rows.flatMap((row) => row.flatMap((one, place) => one.querySelector(".se")?.textContent.startsWith("±") ? [place] : [])));
    const quoted = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    return rows.map((row) => row.flatMap((one, place) => {
      const heading = one.querySelector("button.sort")?.textContent || one.querySelector(".name")?.textContent;
      const value = one.dataset.value ?? plain(heading || one.textContent);
      if (!errors.has(place)) return [value];
      const se = one.querySelector(".se")?.textContent.replace("±", "").trim() ?? "";
      return [value, row === rows[0] ? `${value} standard error` : se];
    }).map(quoted).join(",")).join("\n") + "\n";
  }

  const small = (text, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small-button";
    button.textContent = text;
    button.addEventListener("click", () => act(button));
    return button;
  };

  function setUpDownloads() {
    for (const place of document.querySelectorAll(".scroll")) {
      const table = place.querySelector("table");
      if (!table || table.matches(".wins, .splits")) continue;
      /* Beside a figure, table and button stay one item of the row. */
      if (place.parentElement.classList.contains("beside")) {
        const both = document.createElement("div");
        both.className = "with-button";
        place.replaceWith(both);
        both.append(place);
      }
      place.after(small("CSV of this table", () => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
        link.download = `${place.getAttribute("aria-label").replace(/[^\w-]+/g, "-").toLowerCase()}.csv`;
        link.click();
        URL.revokeObjectURL(link.href);
      }));
    }
    for (const block of document.querySelectorAll("pre > code")) {
      block.parentElement.after(small("Copy", async (button) => {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied";
      }));
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    dressUp(document.getElementById("theme"));
    for (const table of document.querySelectorAll("table[data-board]")) setUpSorting(table);
    setUpComparison();
    setUpFilters();
    setUpDownloads();
    tellOfMore();
    reveal();
    addEventListener("hashchange", reveal);
  });
})();
