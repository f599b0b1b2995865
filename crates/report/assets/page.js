// The page without this script is complete: tables, pictures, files. This adds hover, series on and off, any counters
// of any runs over time, and the choice of colours. It asks nothing of anybody, but for its own server when served live.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const $ = (selector, from = document) => from.querySelector(selector);
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const colour = (index) => getComputedStyle(root).getPropertyValue("--c" + (index % 8)).trim();
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const RUNS_MAX = DASHES.length;
  const COUNTERS_FIRST = 6;

  // -- colours of the page
  const themes = ["auto", "light", "dark"];
  const remembered = () => { try { return localStorage.getItem("fathom-theme"); } catch { return null; } };
  const redraws = [];
  function setTheme(theme) {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    const button = $("#theme");
    if (button) button.textContent = "◐ " + theme;
    try { localStorage.setItem("fathom-theme", theme); } catch { /* a file may have no storage */ }
    redraws.forEach((redraw) => redraw());
  }
  function initTheme() {
    const button = $("#theme");
    let theme = themes.includes(remembered()) ? remembered() : "auto";
    button.onclick = () => setTheme(theme = themes[(themes.indexOf(theme) + 1) % themes.length]);
    setTheme(theme);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((redraw) => redraw()));
  }

  // -- hover, focus and fingers: titles of marks and of defined words become a tip
  function initTips() {
    for (const title of document.querySelectorAll("svg.chart title")) {
      title.parentNode.dataset.tip = title.textContent;
      title.remove();
    }
    for (const word of document.querySelectorAll("a.def[title]")) {
      word.dataset.tip = word.title;
      word.setAttribute("aria-description", word.title);
      word.removeAttribute("title");
    }
  }
  function showTip(target, x, y, foot) {
    const tip = $("#tip");
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = target.dataset.tip;
    const above = y - tip.offsetHeight - 12;
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (above < 4 ? foot + 18 : above) + "px";
  }
  function tipBeside(target) {
    if (!target) return showTip(null);
    const box = target.getBoundingClientRect();
    showTip(target, box.x + Math.min(box.width / 2, 40), box.y, box.bottom - 10);
  }
  function followPointer() {
    const place = (event) => {
      const target = event.target.closest && event.target.closest("[data-tip]");
      showTip(target, event.clientX, event.clientY, event.clientY);
    };
    document.addEventListener("pointermove", place);
    document.addEventListener("pointerdown", place);
    document.addEventListener("focusin", (event) => { if (event.target.matches("a.def[data-tip]:focus-visible")) tipBeside(event.target); });
    document.addEventListener("focusout", () => showTip(null));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") showTip(null); });
    document.addEventListener("scroll", () => showTip(null), { passive: true });
  }

  // -- series on and off in pictures
  function initKeys() {
    for (const key of document.querySelectorAll("svg.chart g.key")) {
      key.setAttribute("tabindex", "0");
      key.setAttribute("role", "button");
      key.setAttribute("aria-pressed", "true");
      key.setAttribute("aria-label", "Show " + key.textContent);
      const toggle = () => {
        const off = key.classList.toggle("off");
        key.setAttribute("aria-pressed", String(!off));
        const series = key.closest("svg").querySelectorAll(`g.series[data-s="${key.dataset.s}"]`);
        series.forEach((group) => group.classList.toggle("hidden", off));
      };
      key.onclick = toggle;
      key.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); } };
    }
  }

  // -- figures: short on axes, full where they are read
  function short(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    for (const [scale, letter] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
      if (size >= scale) { const s = scale === 1e4 ? 1e3 : scale; return digits(value / s) + letter; }
    }
    return digits(value);
  }
  function digits(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    return size >= 1000 ? value.toFixed(0) : Number(value.toPrecision(4)).toString();
  }

  // -- counters over time
  // What the reader chose stays chosen when a live page is renewed.
  const chosen = { runs: null, counters: null, lit: null };
  function initClock(data) {
    const host = $("#clock");
    if (!host || !data.runs.length) return;
    const runById = new Map(data.runs.map((run) => [String(run.id), run]));
    const first = data.runs.find((run) => !run.note) || data.runs[0];
    const state = chosen;
    state.runs = (state.runs || []).filter((id) => runById.has(id));
    if (!state.runs.length) state.runs = [String(first.id)];
    const seriesOf = (run, counter) => run.series.find((series) => series.counter === counter);
    const known = () => {
      const present = new Set();
      state.runs.forEach((id) => runById.get(id).series.forEach((series) => present.add(series.counter)));
      return [...present].sort((a, b) => data.counters[a].rank - data.counters[b].rank || a - b);
    };
    // Two counters of transactions say the same: one of them is throughput enough.
    const names = new Set([...(state.counters || [])].filter((counter) => counter < data.counters.length));
    state.counters = names.size ? names : new Set(known().filter((counter, place, all) =>
      !(data.counters[counter].rank === 1 && data.counters[all[0]].rank === 0)).slice(0, COUNTERS_FIRST));
    const colours = new Map();
    const colourOf = (counter) => {
      if (!colours.has(counter)) {
        // The first colour that no shown counter has.
        const taken = new Set([...state.counters].map((other) => colours.get(other)));
        let free = 0;
        while (taken.has(free)) free++;
        colours.set(counter, free);
      }
      return colours.get(counter);
    };

    const select = make("select", { id: "clock-run", ariaLabel: "Run" });
    const groups = new Map();
    for (const run of data.runs) {
      if (!groups.has(run.cell)) {
        const group = make("optgroup");
        group.label = run.cell;
        groups.set(run.cell, group);
        select.append(group);
      }
      const words = `run ${run.id}, block ${run.block}, ${digits(run.seconds)} s${run.note ? " (" + run.note + ")" : ""}`;
      groups.get(run.cell).append(make("option", { value: String(run.id), textContent: words }));
    }
    select.value = state.runs[0];
    select.onchange = () => { state.runs = [select.value]; draw(); };
    const overlay = make("button", { type: "button", textContent: "+ overlay this run" });
    overlay.onclick = () => {
      if (!state.runs.includes(select.value) && state.runs.length < RUNS_MAX) state.runs.push(select.value);
      draw();
    };
    const chips = make("span", { className: "tools" });
    const plot = make("div", { className: "plot" });
    const closer = fathomZoom.plot(plot, () => chart, (index) => told(index));
    const legend = make("div", { className: "scroll" });
    const marks = make("p", { className: "marks" });
    host.replaceChildren(
      make("div", { className: "tools" }, make("label", { htmlFor: "clock-run", textContent: "Run" }), select, overlay, closer.buttons),
      chips, plot, closer.spoken, marks, legend,
      make("p", { className: "note", textContent: "Drag over the plot, pinch it or use the buttons to zoom; double-click resets. With the keyboard: arrows read the values, + and − zoom, 0 resets. Every counter has its own scale from 0 to the largest value of the runs shown; choose a name to highlight it and to read its scale on the axis; tick rows to choose counters." }),
    );
    let chart = null;
    let cells = [];

    function lines() {
      const list = [];
      for (const counter of known()) {
        state.runs.forEach((id, order) => {
          const series = seriesOf(runById.get(id), counter);
          if (series) list.push({ counter, id, order, series });
        });
      }
      return list;
    }

    function draw() {
      const all = lines();
      all.filter((line) => state.counters.has(line.counter)).forEach((line) => colourOf(line.counter));
      const shown = all.filter((line) => state.counters.has(line.counter));
      if (!shown.some((line) => line.counter === state.lit)) state.lit = shown.length ? shown[0].counter : null;
      // What is highlighted lies on top.
      shown.sort((a, b) => (a.counter === state.lit) - (b.counter === state.lit));
      drawChips();
      drawPlot(shown);
      drawLegend(all, shown);
      drawMarks();
    }

    function dashSample(order) {
      const dash = DASHES[order].join(" ");
      const sample = make("span");
      sample.innerHTML = `<svg viewBox="0 0 26 10" width="26" height="10"><path d="M0 5H26" stroke="currentColor" stroke-width="2" stroke-dasharray="${dash}"/></svg>`;
      return sample;
    }

    function drawChips() {
      chips.replaceChildren();
      if (state.runs.length < 2) return;
      state.runs.forEach((id, order) => {
        const run = runById.get(id);
        const chip = make("button", { type: "button", className: "chip", title: "Remove this run" },
          dashSample(order), `run ${id}: ${run.cell} ×`);
        chip.onclick = () => { state.runs = state.runs.filter((other) => other !== id); draw(); };
        chips.append(chip);
      });
    }

    function drawPlot(shown) {
      if (chart) chart.destroy();
      chart = null;
      plot.replaceChildren();
      if (!shown.length) { plot.append(make("p", { className: "absent", textContent: "No counter is chosen." })); return; }
      const tables = shown.map((line) => [data.clocks[line.series.clock], line.series.values]);
      const joined = uPlot.join(tables, tables.map(() => [2]));
      const [first, last] = [joined[0][0], joined[0][joined[0].length - 1]];
      const end = Math.max(...state.runs.map((id) => runById.get(id).seconds));
      const scales = { x: { time: false, range: (u, min, max) => (min <= first && max >= last ? [0, Math.max(end, last)] : [min, max]) } };
      for (const line of shown) {
        const key = "s" + line.counter;
        const top = Math.max(...shown.filter((other) => other.counter === line.counter).map((other) => other.series.figures[3]));
        const low = Math.min(0, ...shown.filter((other) => other.counter === line.counter).map((other) => other.series.figures[2]));
        scales[key] = { range: [low, top > low ? low + (top - low) * 1.05 : low + 1] };
      }
      const litUnit = data.counters[state.lit];
      const options = {
        width: Math.max(280, plot.clientWidth), height: innerWidth < 600 ? 300 : 380, scales,
        legend: { show: false },
        cursor: { drag: { x: true, y: false, uni: 10 }, points: { size: 7 } },
        axes: [
          { stroke: css("--faint"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid") }, label: "seconds since the start barrier", labelSize: 22, font: "12px system-ui", labelFont: "12px system-ui" },
          { scale: "s" + state.lit, stroke: colour(colourOf(state.lit)), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid") }, size: 62, font: "12px system-ui", labelFont: "12px system-ui",
            label: litUnit.name + (litUnit.unit && litUnit.unit !== "1" ? " [" + litUnit.unit + "]" : ""), labelSize: 22, values: (u, ticks) => ticks.map(short) },
        ],
        series: [{ label: "s" }, ...shown.map((line) => ({
          label: data.counters[line.counter].name, scale: "s" + line.counter, stroke: colour(colourOf(line.counter)),
          width: line.counter === state.lit ? 2.6 : 1.5, alpha: line.counter === state.lit ? 1 : 0.75,
          dash: DASHES[line.order], points: { show: joined[0].length < 80, size: 4 },
        }))],
        hooks: {
          drawClear: [drawBands],
          setCursor: [(u) => {
            const index = u.cursor.idx;
            cells.forEach(({ cell, position }) => {
              cell.textContent = index === null || index === undefined ? "" : short(near(u, position, index));
            });
          }],
        },
      };
      chart = new uPlot(options, joined, plot);
    }

    // Runs have clocks of their own: the nearest look of this line that is not later than a step away.
    function near(u, position, index) {
      const values = u.data[position];
      for (let step = 0; step < 4; step++) {
        for (const other of [index - step, index + step]) {
          if (values[other] !== undefined && values[other] !== null) return values[other];
        }
      }
      return null;
    }

    // Time and figures of the shown lines, for those who hear them.
    function told(index) {
      const parts = cells.map(({ name, position }) => `${name} ${short(near(chart, position, index))}`);
      return `${digits(chart.data[0][index])} s: ${parts.join(", ")}`;
    }

    function drawBands(u) {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      for (const id of state.runs) {
        for (const [from, to, isCheckpoint] of runById.get(id).marks) {
          const left = u.valToPos(from, "x", true);
          const width = Math.max(2, u.valToPos(to, "x", true) - left);
          ctx.fillStyle = isCheckpoint ? css("--band") : css("--c3");
          ctx.globalAlpha = isCheckpoint ? 0.6 / Math.sqrt(state.runs.length) : 0.8;
          ctx.fillRect(left, bbox.top, width, bbox.height);
        }
      }
      ctx.restore();
    }

    function drawMarks() {
      let checkpoints = 0;
      let growths = 0;
      state.runs.forEach((id) => runById.get(id).marks.forEach((mark) => { if (mark[2]) checkpoints++; else growths++; }));
      const box = (variable) => { const i = make("i"); i.style.background = css(variable); return i; };
      marks.replaceChildren(
        make("span", {}, box("--band"), `checkpoint (${checkpoints})`),
        make("span", {}, box("--c3"), `log growth (${growths})`),
      );
    }

    function drawLegend(all, shown) {
      const table = make("table", { className: "legend" });
      const head = make("tr");
      const several = state.runs.length > 1;
      for (const words of ["", "counter", ...(several ? ["run"] : []), "unit", "at pointer", "last", "avg", "min", "max"]) {
        head.append(make("th", { textContent: words, className: ["counter", "unit", "", "run"].includes(words) ? "l" : "r" }));
      }
      table.append(make("thead", {}, head));
      const body = make("tbody");
      const rest = make("tbody");
      cells = [];
      for (const line of all) {
        const counter = data.counters[line.counter];
        const isShown = state.counters.has(line.counter);
        const row = make("tr", { className: (isShown ? "" : "off ") + (line.counter === state.lit ? "lit" : "") });
        row.dataset.counter = counter.name;
        const tick = make("input", { type: "checkbox", checked: isShown, ariaLabel: "Show " + counter.name });
        tick.onclick = (event) => {
          event.stopPropagation();
          if (isShown) { state.counters.delete(line.counter); colours.delete(line.counter); } else state.counters.add(line.counter);
          draw();
        };
        const swatch = make("span", { className: "swatch" });
        swatch.style.borderColor = isShown ? colour(colourOf(line.counter)) : "transparent";
        const now = make("td", { className: "r" });
        now.dataset.role = "pointer";
        const light = make("button", { type: "button", className: "name", textContent: counter.name, ariaPressed: String(line.counter === state.lit) });
        const name = make("td", { className: "l" }, swatch, light);
        if (counter.definition) name.dataset.tip = counter.definition;
        row.append(make("td", {}, tick), name);
        if (several) row.append(make("td", { className: "l" }, dashSample(line.order), " " + line.id));
        row.append(make("td", { className: "l", textContent: counter.unit === "1" ? "" : counter.unit }), now);
        for (const figure of line.series.figures) row.append(make("td", { className: "r", textContent: short(figure) }));
        row.onclick = () => {
          const isFocused = document.activeElement === light;
          state.counters.add(line.counter);
          state.lit = line.counter;
          draw();
          if (isFocused) legend.querySelector("tr.lit button.name").focus();
        };
        (isShown ? body : rest).append(row);
        const position = shown.indexOf(line);
        if (position >= 0) cells.push({ cell: now, name: counter.name, position: position + 1 });
      }
      table.append(body);
      const before = $("details", legend);
      const more = make("details", { className: "more", open: Boolean(before && before.open) },
        make("summary", { textContent: `${rest.children.length} more counters` }),
        make("table", { className: "legend" }, head.parentNode.cloneNode(true), rest));
      legend.replaceChildren(table, ...(rest.children.length ? [more] : []));
    }

    redraws.push(draw);
    draw();
    initSeriesDownload(data, state, runById);
  }

  function initSeriesDownload(data, state, runById) {
    const place = $("#series-download");
    if (!place) return;
    const link = make("a", { href: "#", className: "download", textContent: "series.csv" });
    link.onclick = () => {
      const quote = (text) => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
      const rows = ["run_id,cell,at_s,counter,unit,value"];
      for (const run of data.runs) {
        for (const series of run.series) {
          const counter = data.counters[series.counter];
          series.values.forEach((value, index) => {
            if (value !== null) rows.push([run.id, quote(run.cell), data.clocks[series.clock][index], quote(counter.name), quote(counter.unit), value].join(","));
          });
        }
      }
      link.href = URL.createObjectURL(new Blob([rows.join("\n") + "\n"], { type: "text/csv" }));
      link.download = "series.csv";
    };
    place.replaceChildren(link, " the counters over time as they are drawn here");
  }

  // -- an anchor inside something folded opens it
  function openTarget() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details");
    if (folded) folded.open = true;
  }

  // -- news from the server that shows this page while an experiment runs
  let stamp = null;
  async function follow() {
    const place = $("#live");
    try {
      const state = await (await fetch(location.pathname + "/state", { cache: "no-store" })).json();
      const left = state.eta_s === null ? "" : `, about ${duration(state.eta_s)} left`;
      const count = `${state.counting} of ${state.planned} runs count`;
      if (state.running) place.textContent = `Running: ${count}${left}.`;
      else if (state.interrupted_at) place.textContent = `Interrupted at run ${state.interrupted_at} of ${state.planned}: its process has ended. Resume with the same options and its seed: ${state.resume} … ${count}.`;
      else place.textContent = `${count}; no run is in progress.`;
      place.hidden = false;
      if (stamp !== null && state.stamp !== stamp) await renew();
      stamp = state.stamp;
    } catch {
      place.textContent = "The server does not answer; this page shows the last known state.";
      place.hidden = false;
    }
    setTimeout(follow, 2000);
  }
  function duration(seconds) {
    if (seconds < 90) return `${seconds} s`;
    return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
  }
  async function renew() {
    const text = await (await fetch(location.pathname, { cache: "no-store" })).text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const open = new Map([...document.querySelectorAll("details[id]")].map((folded) => [folded.id, folded.open]));
    for (const selector of ["main", "header .kicker", "#definitions", "#data"]) $(selector).replaceWith($(selector, fresh));
    document.querySelectorAll("details[id]").forEach((folded) => { if (open.has(folded.id)) folded.open = open.get(folded.id); });
    show();
  }

  function show() {
    redraws.length = 0;
    initTips();
    initKeys();
    fathomZoom.pictures(tipBeside);
    initClock(JSON.parse($("#data").textContent));
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    redraws.forEach((redraw) => redraw());
  });
  addEventListener("hashchange", openTarget);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((folded) => { folded.open = true; }));
  followPointer();
  show();
  initTheme();
  openTarget();
  if ("live" in document.body.dataset) follow();
})();
