"use strict";

/* Light or dark: the system decides until the reader does. */
(() => {
  const root = document.documentElement;
  const button = document.querySelector(".theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const key = "rhokit-theme";
  const recall = () => {
    try { return localStorage.getItem(key); } catch { return null; }
  };
  const remember = (theme) => {
    try { localStorage.setItem(key, theme); } catch { /* not allowed here */ }
  };
  const current = () => root.dataset.theme ?? (system.matches ? "dark" : "light");
  const other = () => (current() === "dark" ? "light" : "dark");
  const show = () => {
    const next = other();
    button.textContent = next === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Switch to ${next} colours`);
  };
  const known = recall();
  if (known === "dark" || known === "light") root.dataset.theme = known;
  button.addEventListener("click", () => {
    root.dataset.theme = other();
    remember(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
})();

/* Tables: a click on a heading sorts, another one turns the order round. */
(() => {
  const valueOf = (row, column, numeric) => {
    const value = row.cells[column].dataset.value;
    if (value === undefined) return null;
    if (!numeric) return value;
    return Number(value.replace("inf", "Infinity"));
  };
  const compare = (a, b, numeric) =>
    numeric ? (a < b ? -1 : a > b ? 1 : 0) : a.localeCompare(b, "en", { numeric: true });

  const sort = (table, header) => {
    const column = header.cellIndex;
    const numeric = header.classList.contains("number");
    const falling = header.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const pairs = [...table.tBodies[0].rows].map((row) => [valueOf(row, column, numeric), row]);
    pairs.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // gaps last
      return (falling ? -1 : 1) * compare(a, b, numeric);
    });
    table.tBodies[0].append(...pairs.map(([, row]) => row));
  };

  for (const table of document.querySelectorAll("table")) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      button.addEventListener("click", () => sort(table, header));
      header.append(button);
    }
  }
})();

/* Charts: the values under the pointer, the finger or the arrow keys. */
(() => {
  const tip = document.querySelector(".tip");
  const svgNames = "http://www.w3.org/2000/svg";
  const make = (name, kind) => {
    const element = document.createElementNS(svgNames, name);
    element.setAttribute("class", kind);
    return element;
  };
  const halo = make("circle", "halo");
  halo.setAttribute("r", "4");
  const guide = make("path", "guide");

  let again = null; // shows the same values at their new place

  const hide = () => {
    again = null;
    tip.hidden = true;
    halo.remove();
    guide.remove();
  };

  const fill = (names, values) => {
    tip.replaceChildren(...names.map((name, k) => {
      const line = document.createElement("div");
      const label = document.createElement("span");
      const value = document.createElement("b");
      label.textContent = name;
      value.textContent = values[k];
      line.append(label, " ", value);
      return line;
    }));
  };

  const place = (x, y) => {
    const room = 14;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const right = document.documentElement.clientWidth;
    const left = x + room + width > right ? x - room - width : x + room;
    const above = y - room - height;
    tip.style.left = `${Math.max(4, Math.min(left, right - width - 4))}px`;
    tip.style.top = `${above < 4 ? y + room : above}px`;
  };

  const bind = (chart) => {
    const marks = JSON.parse(chart.dataset.marks);
    if (!marks.length) return;
    const names = JSON.parse(chart.dataset.names);
    const inPlane = chart.dataset.nearest === "xy";
    let at = -1;

    const scale = () => chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
    const show = (k) => {
      at = k;
      again = () => show(k);
      const [x, y, ...values] = marks[k];
      const box = chart.getBoundingClientRect();
      halo.setAttribute("cx", x);
      halo.setAttribute("cy", y);
      guide.setAttribute("d", inPlane ? "" : `M${x} 10V${chart.viewBox.baseVal.height - 42}`);
      chart.append(guide, halo);
      fill(names, values);
      place(box.left + x * scale(), box.top + y * scale());
    };
    const nearest = (x, y) => {
      let best = 0;
      let least = Infinity;
      marks.forEach(([mx, my], k) => {
        const distance = (mx - x) ** 2 + (inPlane ? (my - y) ** 2 : 0);
        if (distance < least) [best, least] = [k, distance];
      });
      return best;
    };
    const follow = (event) => {
      const box = chart.getBoundingClientRect();
      show(nearest((event.clientX - box.left) / scale(), (event.clientY - box.top) / scale()));
    };
    /* In the plane: the nearest mark that lies that way. */
    const towards = (dx, dy) => {
      let best = at;
      let least = Infinity;
      const [x, y] = marks[at];
      marks.forEach(([mx, my], k) => {
        const along = (mx - x) * dx + (my - y) * dy;
        const aside = Math.abs((mx - x) * dy) + Math.abs((my - y) * dx);
        if (along > 0.05 && along + 2 * aside < least) [best, least] = [k, along + 2 * aside];
      });
      return best;
    };
    const step = (key) => {
      const last = marks.length - 1;
      if (key === "Home") return 0;
      if (key === "End") return last;
      const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
      if (at < 0) return 0;
      if (inPlane) return towards(dx, dy);
      return Math.max(0, Math.min(last, at + dx - dy));
    };

    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") hide(); // a finger's values stay to be read
    });
    chart.addEventListener("focus", () => {
      if (chart.matches(":focus-visible")) show(Math.max(at, 0));
    });
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      if (!/^(Arrow|Home$|End$)/.test(event.key)) return;
      event.preventDefault();
      show(step(event.key));
    });
  };

  document.querySelectorAll(".chart").forEach(bind);
  /* A chart that is focused by key is scrolled into view: its values go with it. */
  addEventListener("scroll", () => {
    if (again && document.activeElement.matches(".chart:focus-visible")) again();
    else hide();
  }, { passive: true });
})();
