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

  // -- figures: thousands set apart, a letter from a million on
  function short(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    for (const [scale, letter] of [[1e12, " T"], [1e9, " G"], [1e6, " M"]]) {
      if (Math.abs(value) >= scale) return digits(value / scale) + letter;
    }
    return digits(value);
  }
  function digits(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    return size >= 1000 ? value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",") : Number(value.toPrecision(4)).toString();
  }

  // -- counters over time
  // What the reader chose stays chosen when a live page is renewed.
  const chosen = { runs: null, counters: null };
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
    // Several counters of the same work say the same: one of them is throughput enough.
    const names = new Set([...(state.counters || [])].filter((counter) => counter < data.counters.length));
    const ofWork = known().filter((counter) => data.counters[counter].work);
    state.counters = names.size ? names : new Set(known().filter((counter) =>
      !data.counters[counter].work || counter === ofWork[0]).slice(0, COUNTERS_FIRST));

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
    const plot = make("div", { className: "plot small" });
    let charts = [];
    // The one below a place of the window, else the first.
    const chartAt = (left, top) => charts.find(({ over }) => {
      const box = over.getBoundingClientRect();
      return left >= box.left && left <= box.right && top >= box.top && top <= box.bottom;
    }) || charts[0];
    const closer = fathomZoom.plot(plot, chartAt, (index) => told(index));
    const legend = make("div", { className: "scroll" });
    const marks = make("p", { className: "marks" });
    host.replaceChildren(
      make("div", { className: "tools" }, make("label", { htmlFor: "clock-run", textContent: "Run" }), select, overlay, closer.buttons),
      chips, plot, closer.spoken, marks, legend,
      make("p", { className: "note", textContent: "Every counter has a chart and an axis of its own, from 0. Drag over a chart, pinch it or use the buttons to zoom all of them; double-click resets. With the keyboard: arrows read the values, + and − zoom, 0 resets. Tick rows of the table to choose counters." }),
    );
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
      const shown = all.filter((line) => state.counters.has(line.counter));
      drawChips();
      drawPlots(shown);
      drawLegend(all, shown);
      drawMarks();
    }

    function dashSample(order) {
      const dash = DASHES[order].join(" ");
      const sample = make("span");
      sample.style.color = colour(order);
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

    // One chart per counter; the pointer and the zoom are common to all.
    function drawPlots(shown) {
      charts.forEach((chart) => chart.destroy());
      charts = [];
      plot.replaceChildren();
      if (!shown.length) { plot.append(make("p", { className: "absent", textContent: "No counter is chosen." })); return; }
      const last = Math.max(...shown.map((line) => data.clocks[line.series.clock].at(-1)), ...state.runs.map((id) => runById.get(id).seconds));
      for (const counter of new Set(shown.map((line) => line.counter))) {
        const { scale, title } = data.counters[counter];
        const drawn = shown.filter((line) => line.counter === counter);
        const scaled = (line) => line.series.values.map((value) => (value === null ? null : value * scale));
        const joined = uPlot.join(drawn.map((line) => [data.clocks[line.series.clock], scaled(line)]), drawn.map(() => [2]));
        const box = make("div", {}, make("p", { className: "named", textContent: title }));
        plot.append(box);
        charts.push(new uPlot(options(counter, drawn, [joined[0][0], joined[0].at(-1), last], box.clientWidth), joined, box));
      }
    }

    function options(counter, drawn, [from, to, last], width) {
      const { scale, name } = data.counters[counter];
      const top = scale * Math.max(...drawn.map((line) => line.series.figures[3]));
      const low = scale * Math.min(0, ...drawn.map((line) => line.series.figures[2]));
      const lines = { grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid") }, stroke: css("--faint"), font: "12px system-ui", labelFont: "12px system-ui" };
      return {
        width: Math.max(240, width), height: 150, legend: { show: false },
        scales: {
          x: { time: false, range: (u, min, max) => (min <= from && max >= to ? [0, last] : [min, max]) },
          y: { range: [low, top > low ? low + (top - low) * 1.08 : low + 1] },
        },
        cursor: { drag: { x: true, y: false, uni: 10 }, points: { size: 7 }, y: false, dataIdx: (u, series, index) => nearest(u.data[0], u.data[series], u.data[0][index]) ?? index },
        axes: [{ ...lines, size: 28, values: (u, ticks) => ticks.map((tick, place) => short(tick) + (place === ticks.length - 1 ? " s" : "")) },
          { ...lines, size: 58, space: 28, values: (u, ticks) => ticks.map(short) }],
        series: [{ label: "s" }, ...drawn.map((line) => ({
          label: name, stroke: colour(line.order), width: 1.8, dash: DASHES[line.order], points: { show: line.series.values.length < 80, size: 4 },
        }))],
        hooks: {
          drawClear: [drawBands],
          // Charts are drawn later than they are asked to: what agrees already is not asked again.
          setScale: [(u, key) => {
            const { min, max } = u.scales.x;
            if (key === "x") charts.filter(({ scales }) => scales.x.min !== min || scales.x.max !== max).forEach((other) => other.setScale("x", { min, max }));
          }],
          setCursor: [(u) => together(() => {
            const time = u.cursor.idx === null || u.cursor.idx === undefined ? null : u.data[0][u.cursor.idx];
            charts.filter((other) => other !== u).forEach((other) =>
              other.setCursor(time === null ? { left: -10, top: -10 } : { left: other.valToPos(time, "x"), top: 1 }));
            cells.forEach(({ cell, position }) => { cell.textContent = time === null ? "" : short(valueAt(position, time)); });
          })],
        },
      };
    }

    // The pointer over one chart moves that of all, once.
    let isTogether = false;
    function together(act) {
      if (isTogether) return;
      isTogether = true;
      act();
      isTogether = false;
    }

    // Counters and runs have clocks of their own: the value nearest to the time, unless it is two samples away.
    function valueAt({ chart, series }, time) {
      const { data: columns } = charts[chart];
      const [times, values] = [columns[0], columns[series]];
      const index = nearest(times, values, time);
      const count = values.filter((value) => value !== null && value !== undefined).length;
      const far = 2 * (times.at(-1) - times[0]) / Math.max(count - 1, 1);
      return index === null || (count > 1 && Math.abs(times[index] - time) > far) ? null : values[index];
    }
    function nearest(times, values, time) {
      let best = null;
      values.forEach((value, index) => {
        const isKnown = value !== null && value !== undefined;
        if (isKnown && (best === null || Math.abs(times[index] - time) < Math.abs(times[best] - time))) best = index;
      });
      return best;
    }

    // Time and figures of the shown lines, for those who hear them.
    function told(index) {
      const time = charts[0].data[0][index];
      const parts = cells.map(({ name, position }) => `${name} ${short(valueAt(position, time))}`);
      return `${digits(time)} s: ${parts.join(", ")}`;
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
        make("span", {}, box("--c3"), `WAL growth (${growths})`),
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
      const order = [...new Set(shown.map((line) => line.counter))];
      cells = [];
      for (const line of all) {
        const counter = data.counters[line.counter];
        const isShown = state.counters.has(line.counter);
        const row = make("tr", { className: isShown ? "" : "off" });
        row.dataset.counter = counter.name;
        const tick = make("input", { type: "checkbox", checked: isShown, ariaLabel: "Show " + counter.name });
        row.onclick = () => {
          if (isShown) state.counters.delete(line.counter); else state.counters.add(line.counter);
          const isFocused = document.activeElement === tick;
          draw();
          if (isFocused) [...legend.querySelectorAll("tr")].find((other) => other.dataset.counter === counter.name).querySelector("input").focus();
        };
        const now = make("td", { className: "r" });
        now.dataset.role = "pointer";
        const name = make("td", { className: "l", textContent: counter.name });
        if (counter.definition) name.dataset.tip = counter.definition;
        row.append(make("td", {}, tick), name);
        if (several) row.append(make("td", { className: "l" }, dashSample(line.order), " " + line.id));
        row.append(make("td", { className: "l", textContent: counter.shown }), now);
        for (const figure of line.series.figures) row.append(make("td", { className: "r", textContent: short(figure * counter.scale) }));
        (isShown ? body : rest).append(row);
        if (isShown) {
          const inChart = shown.filter((other) => other.counter === line.counter);
          cells.push({ cell: now, name: counter.name, position: { chart: order.indexOf(line.counter), series: inChart.indexOf(line) + 1 } });
        }
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
    for (const selector of ["main", "nav", "header .kicker", "#definitions", "#data"]) {
      const [old, young] = [$(selector), $(selector, fresh)];
      if (old && young) old.replaceWith(young);
    }
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
  followPointer();
  show();
  initTheme();
  openTarget();
  if ("live" in document.body.dataset) follow();
})();
