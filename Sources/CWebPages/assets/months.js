/** Months in a row: bars of one number each, and the years that they make. */
import {h, svg} from "./dom.js";
import {addDays, civilDay} from "./format.js";

/** A month such as `2025-06` as people write it. */
export const monthName = (month, style = /** @type {"short" | "long"} */ ("short")) =>
    civilDay(`${month}-01`, {month: style, year: "numeric"});

/** The last day of a month. */
export function lastDay(month) {
    const [year, number] = month.split("-").map(Number);
    const next = number === 12 ? `${year + 1}-01-01` : `${year}-${String(number + 1).padStart(2, "0")}-01`;
    return addDays(next, -1);
}

/** Every month from the first to the last of some rows, with its row if it has one. */
function allMonths(rows) {
    const known = new Map(rows.map((row) => [row.month, row]));
    const months = [];
    for (let month = rows[0].month; month <= rows.at(-1).month;
        month = addDays(lastDay(month), 1).slice(0, 7)) {
        months.push({month, row: known.get(month) ?? null});
    }
    return months;
}

/**
 * Bars of one number a month. A press on a bar goes to the month.
 *
 * @param {any[]} rows each with its `month`, in order
 * @param {{value: (row: any) => number, text: (row: any) => string, label: string, least?: number,
 *     open: (month: string) => void}} options text: what a bar says of itself
 */
export function monthBars(rows, {value, text, label, least = 0, open}) {
    const months = allMonths(rows);
    const most = Math.max(...rows.map(value), least + 1);
    const width = 100 / months.length;
    const height = (row) => Math.max(1, 140 * (value(row) - least) / (most - least));
    const bar = ({month, row}, index) => row === null ? null : svg("rect", {
        x: `${index * width + width * 0.12}%`, width: `${width * 0.76}%`, rx: 1,
        y: 147 - height(row), height: height(row), "data-month": month,
        onclick: () => open(month),
    }, svg("title", null, `${monthName(month)}: ${text(row)}`));
    return h("div", null,
        svg("svg", {
            class: "bars months", width: "100%", height: 148, role: "img", "aria-label": label,
        },
            svg("line", {class: "rail", x1: 0, x2: "100%", y1: 147.5, y2: 147.5}), months.map(bar)),
        h("div", {class: "ends small muted", "aria-hidden": "true"},
            h("span", null, monthName(rows[0].month)),
            h("span", null, monthName(rows.at(-1).month))));
}

/** The rows of each year, the latest first. @returns {[string, any[]][]} */
export function byYear(rows) {
    const years = new Map();
    for (const row of rows) {
        const year = row.month.slice(0, 4);
        if (!years.has(year)) years.set(year, []);
        years.get(year).push(row);
    }
    return [...years].reverse();
}
