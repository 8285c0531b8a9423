"use strict";
(() => {
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  const figure = document.querySelector("figure.with-tip");
  if (!numbers || !figure) return;
  const tip = figure.querySelector(".tip");
  const count = numbers.settings.length;
  const hiddenLines = new Set();
  let shown = null;

  const row = (name, value, strong) => {
    const line = document.createElement("div");
    for (const text of [name, value]) {
      const cell = document.createElement(strong ? "strong" : "span");
      cell.textContent = text;
      line.append(cell);
    }
    return line;
  };

  const show = (chart, place) => {
    shown = place;
    const start = Number(chart.dataset.start);
    const x = start + (Number(chart.dataset.end) - start) * (place + 0.5) / count;
    const cross = chart.querySelector(".cross");
    cross.setAttribute("x1", x);
    cross.setAttribute("x2", x);
    cross.setAttribute("visibility", "visible");
    const title = document.createElement("strong");
    title.textContent = numbers.settings[place];
    tip.replaceChildren(title);
    for (const line of numbers.lines) {
      if (!hiddenLines.has(String(line.style))) tip.append(row(line.name, line.values[place], line.chosen === place));
    }
    tip.hidden = false;
    const box = chart.getBoundingClientRect();
    const around = chart.parentElement.getBoundingClientRect();
    const at = box.left - around.left + x * box.width / chart.viewBox.baseVal.width;
    const left = at + tip.offsetWidth + 14 < around.width ? at + 12 : Math.max(0, at - tip.offsetWidth - 12);
    tip.style.left = `${left}px`;
  };

  const hide = () => {
    shown = null;
    tip.hidden = true;
    figure.querySelectorAll(".cross").forEach((cross) => cross.setAttribute("visibility", "hidden"));
  };

  figure.querySelectorAll("svg.chart").forEach((chart) => {
    const placeAt = (event) => {
      const box = chart.getBoundingClientRect();
      const x = (event.clientX - box.left) * chart.viewBox.baseVal.width / box.width;
      const start = Number(chart.dataset.start);
      const share = (x - start) / (Number(chart.dataset.end) - start);
      return Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    };
    chart.addEventListener("pointermove", (event) => show(chart, placeAt(event)));
    chart.addEventListener("pointerdown", (event) => show(chart, placeAt(event)));
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (step === undefined) return;
      event.preventDefault();
      show(chart, shown === null ? 0 : Math.min(count - 1, Math.max(0, shown + step)));
    });
  });

  document.querySelectorAll("input[data-toggle]").forEach((box) => {
    box.addEventListener("change", () => {
      const line = box.dataset.toggle;
      if (box.checked) hiddenLines.delete(line);
      else hiddenLines.add(line);
      figure.querySelectorAll(`[data-line="${line}"]`).forEach((part) => {
        part.style.display = box.checked ? "" : "none";
      });
    });
  });
})();

(() => {
  document.querySelectorAll("table.sortable").forEach((table) => {
    const body = table.tBodies[0];
    const valueOf = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };
    const compared = (a, b) => {
      if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
      return typeof a === "number" ? -1 : 1;
    };
    table.querySelectorAll("th button").forEach((button, column) => {
      button.addEventListener("click", () => {
        const head = button.parentElement;
        const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
        const rows = [...body.rows].map((row, place) => [valueOf(row, column), place, row]);
        rows.sort((a, b) => turn * compared(a[0], b[0]) || a[1] - b[1]);
        body.replaceChildren(...rows.map((entry) => entry[2]));
      });
    });
  });
})();
