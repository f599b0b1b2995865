"use strict";
// Looking closer: pictures and the plot over time are enlarged with buttons, keys, the mouse and two fingers alike, and
// every mark tells its figures to the pointer, a finger and the arrow keys.
const fathomZoom = (() => {
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const STEP = 1.6;
  const CLOSEST = 24;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));

  // Three buttons; `of` has zoom(factor) and whole().
  function buttons(of, name) {
    const button = (text, label, act) => {
      const one = make("button", { type: "button", textContent: text, title: label, ariaLabel: `${label}: ${name}` });
      one.onclick = act;
      return one;
    };
    return make("span", { className: "closer", role: "group", ariaLabel: "Zoom" },
      button("+", "Zoom in", () => of.zoom(STEP)), button("−", "Zoom out", () => of.zoom(1 / STEP)), button("⤢", "Reset", () => of.whole()));
  }

  // Two fingers enlarge; one moves what is enlarged. `of` has zoom(factor, x, y), move(dx, dy), isPart() and touch(x, y).
  function fingers(element, of) {
    let before = null;
    const look = (event) => {
      const [one, other] = event.touches;
      if (!other) return { x: one.clientX, y: one.clientY, apart: 0 };
      return { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2,
        apart: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) };
    };
    element.addEventListener("touchstart", (event) => {
      before = look(event);
      if (before.apart) event.preventDefault();
    }, { passive: false });
    element.addEventListener("touchmove", (event) => {
      const now = look(event);
      if (!before) { before = now; return; }
      if (now.apart && before.apart) {
        event.preventDefault();
        of.zoom(now.apart / before.apart, now.x, now.y);
        of.move(now.x - before.x, now.y - before.y);
      } else if (!now.apart && !before.apart && of.touch(now.x, now.y, now.x - before.x, now.y - before.y)) {
        event.preventDefault();
      }
      before = now;
    }, { passive: false });
    element.addEventListener("touchend", (event) => { before = event.touches.length ? look(event) : null; });
    element.addEventListener("touchcancel", () => { before = null; });
  }

  // A picture: its view box is what is seen of it.
  function picture(svg, tell) {
    const whole = svg.getAttribute("viewBox").split(" ").map(Number);
    const note = make("p", { className: "note zoomed", hidden: true, textContent: "Part of the chart: the axes may be out of view." });
    let [x, y, width, height] = whole;
    const unit = () => svg.getBoundingClientRect().width / width;
    const point = (left, top) => new DOMPoint(left, top).matrixTransform(svg.getScreenCTM().inverse());
    function show() {
      width = clamp(width, whole[2] / CLOSEST, whole[2]);
      height = clamp(height, whole[3] / CLOSEST, whole[3]);
      x = clamp(x, whole[0], whole[0] + whole[2] - width);
      y = clamp(y, whole[1], whole[1] + whole[3] - height);
      svg.setAttribute("viewBox", [x, y, width, height].map((value) => Number(value.toFixed(2))).join(" "));
      const isPart = of.isPart();
      note.hidden = !isPart;
      svg.classList.toggle("part-of", isPart);
    }
    const of = {
      isPart: () => width < whole[2] * 0.999 || height < whole[3] * 0.999,
      zoom(factor, left, top) {
        const at = left === undefined ? { x: x + width / 2, y: y + height / 2 } : point(left, top);
        const [was, wasHigh] = [width, height];
        width = clamp(width / factor, whole[2] / CLOSEST, whole[2]);
        height = clamp(height / factor, whole[3] / CLOSEST, whole[3]);
        x = at.x - (at.x - x) * width / was;
        y = at.y - (at.y - y) * height / wasHigh;
        show();
      },
      move(dx, dy) { x -= dx / unit(); y -= dy / unit(); show(); },
      touch(left, top, dx, dy) { if (!of.isPart()) return false; of.move(dx, dy); return true; },
      whole() { [x, y, width, height] = whole; show(); },
      part(box) { [x, y, width, height] = box; show(); },
      centre(mark) {
        if (!of.isPart()) return;
        const box = mark.getBBox();
        x = box.x + box.width / 2 - width / 2;
        y = box.y + box.height / 2 - height / 2;
        show();
      },
    };
    drag(svg, point, of);
    fingers(svg, of);
    svg.addEventListener("dblclick", () => of.whole());
    keys(svg, of, walker(svg, of, tell));
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-roledescription", "chart: arrow keys read its values, plus and minus zoom, 0 resets");
    svg.after(buttons(of, svg.getAttribute("aria-label")), note);
  }

  // The mouse draws out a part.
  function drag(svg, point, of) {
    let from = null, frame = null;
    const end = () => { if (frame) frame.remove(); from = frame = null; };
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0 || event.target.closest(".key")) return;
      event.preventDefault();
      from = point(event.clientX, event.clientY);
      frame = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      frame.setAttribute("class", "frame");
      svg.append(frame);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!from) return;
      const to = point(event.clientX, event.clientY);
      const box = { x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) };
      for (const name in box) frame.setAttribute(name, box[name]);
    });
    svg.addEventListener("pointerup", () => {
      if (!from) return;
      const box = ["x", "y", "width", "height"].map((name) => Number(frame.getAttribute(name)));
      end();
      if (box[2] > 8 && box[3] > 8) of.part(box);
    });
    svg.addEventListener("pointercancel", end);
  }

  // The arrow keys go from mark to mark.
  function walker(svg, of, tell) {
    let at = null;
    const marks = () => [...svg.querySelectorAll("[data-tip]")].filter((mark) => mark.getClientRects().length);
    const go = (to) => {
      const all = marks();
      if (!all.length) return;
      if (at) at.classList.remove("at");
      at = all[clamp(to(all.indexOf(at), all.length), 0, all.length - 1)];
      at.classList.add("at");
      of.centre(at);
      tell(at);
    };
    svg.addEventListener("blur", () => { if (at) at.classList.remove("at"); at = null; tell(null); });
    return {
      next: () => go((place) => place + 1), before: () => go((place) => place - 1),
      first: () => go(() => 0), last: () => go((_, count) => count - 1),
    };
  }

  // What a focused chart does on a key.
  function keys(element, of, walk) {
    const far = 40;
    const shifted = { ArrowLeft: () => of.move(far, 0), ArrowRight: () => of.move(-far, 0), ArrowUp: () => of.move(0, far), ArrowDown: () => of.move(0, -far) };
    const plain = {
      "+": () => of.zoom(STEP), "=": () => of.zoom(STEP), "-": () => of.zoom(1 / STEP), 0: () => of.whole(), Escape: () => of.whole(),
      ArrowLeft: walk.before, ArrowRight: walk.next, Home: walk.first, End: walk.last,
    };
    element.addEventListener("keydown", (event) => {
      if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
      const act = (event.shiftKey && shifted[event.key]) || plain[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  }

  // The plots over time: `chart` gives the one at a place of the window, `told` the figures at the pointer in words.
  function plot(place, chart, told) {
    const ends = (u) => { const at = u.data[0]; return [0, at[at.length - 1]]; };
    // What is in view; a plot that is not painted yet shows the whole.
    const view = (u) => { const { min, max } = u.scales.x; const [low, high] = ends(u); return { min: min ?? low, max: max ?? high }; };
    const spoken = make("p", { className: "unseen", role: "status" });
    const set = (u, min, max) => {
      const [low, high] = ends(u);
      const width = clamp(max - min, (high - low) / 500, high - low);
      const from = clamp(min, low, high - width);
      u.setScale("x", { min: from, max: from + width });
    };
    const of = {
      isPart() { const u = chart(); const [low, high] = ends(u); return u.scales.x.max - u.scales.x.min < (high - low) * 0.999; },
      zoom(factor, left, top) {
        const u = chart(left, top);
        if (!u) return;
        const { min, max } = view(u);
        const at = left === undefined ? (min + max) / 2 : u.posToVal(left - u.over.getBoundingClientRect().left, "x");
        set(u, at - (at - min) / factor, at + (max - at) / factor);
      },
      move(dx) {
        const u = chart();
        if (!u) return;
        const { min, max } = view(u);
        const by = dx / u.over.clientWidth * (max - min);
        set(u, min - by, max - by);
      },
      touch(left, top, dx, dy) {
        if (Math.abs(dy) > Math.abs(dx)) return false;
        const u = chart(left, top), box = u.over.getBoundingClientRect();
        u.setCursor({ left: clamp(left - box.left, 0, box.width), top: clamp(top - box.top, 0, box.height) });
        return true;
      },
      whole() { const u = chart(); if (u) u.setScale("x", { min: ends(u)[0], max: ends(u)[1] }); },
    };
    const go = (to) => {
      const u = chart();
      if (!u) return;
      const times = u.data[0], { min, max } = view(u);
      const inside = times.map((_, index) => index).filter((index) => times[index] >= min && times[index] <= max);
      const now = inside.indexOf(u.cursor.idx ?? -1);
      const index = inside[clamp(to(now, inside.length), 0, inside.length - 1)];
      if (index === undefined) return;
      u.setCursor({ left: u.valToPos(times[index], "x"), top: u.over.clientHeight / 2 });
      spoken.textContent = told(index);
    };
    keys(place, of, {
      next: () => go((at) => at + 1), before: () => go((at) => at - 1), first: () => go(() => 0), last: () => go((_, count) => count - 1),
    });
    fingers(place, of);
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "Counters over time: arrow keys read them, plus and minus zoom, 0 resets");
    return { buttons: buttons(of, "counters over time"), spoken };
  }

  return {
    pictures(tell) { document.querySelectorAll("main figure svg.chart").forEach((svg) => picture(svg, tell)); },
    plot,
  };
})();

