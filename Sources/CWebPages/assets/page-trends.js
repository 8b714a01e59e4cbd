/** Trends: each measure of a month beside the twelve months before it, in words. */
import {getOrNone} from "./api.js";
import {behind, button, h, noData, table} from "./dom.js";
import {addDays, measure, quantity} from "./format.js";
import {lastDay, monthName} from "./months.js";
import {sparkline} from "./pictures.js";

async function load({query, signal}) {
    const month = /^\d{4}-\d\d$/.test(query.get("month") ?? "") ? query.get("month") : null;
    return getOrNone("trends", {month}, signal);
}

function draw(answer, place) {
    if (!answer) return [h("h1", null, "Trends"), noData()];
    const {month, trends} = answer;
    const open = (other) => {
        place.setQuery({month: other});
        place.refresh();
    };
    const before = addDays(`${month}-01`, -1).slice(0, 7);
    const after = addDays(lastDay(month), 1).slice(0, 7);
    return [
        h("h1", null, `${monthName(month, "long")}, and the year before`),
        h("div", {class: "controls"}, h("div", {class: "buttons", role: "group", "aria-label": "Month"},
            button(`← ${monthName(before)}`, "before", () => open(before)),
            answer.is_over ? button(`${monthName(after)} →`, "after", () => open(after)) : null)),
        h("p", {class: "lead"},
            "Each measure is compared with your own months alone. \"Usual\" is the middle half of the "
                + "months before."),
        trends.length === 0
            ? h("p", {class: "muted"}, `Nothing is recorded of ${monthName(month, "long")}.`)
            : h("ul", {class: "cards"}, trends.map((one) => card(one, month))),
        trends.length === 0 ? null
            : behind("Trends as a table", () => table("Trends",
                ["Measure", "#Month", "#Usually from", "#To", "Compared"],
                trends.map((one) => [
                    one.title, measure(one.value, one.unit),
                    one.usual_from === null ? "" : measure(one.usual_from, one.unit),
                    one.usual_to === null ? "" : measure(one.usual_to, one.unit), one.words
                ]))),
    ];
}

/** The page that shows a measure over time. */
function linkOf(one) {
    if (one.measure === "total_sleep_minutes") return "/sleep";
    return one.record_type ? `/explore?type=${one.record_type}` : null;
}

function card(one, month) {
    const link = linkOf(one);
    const values = new Map(one.before.map((row) => [row.month, row.value]));
    const months = [];
    for (let name = month; months.length < 13; name = addDays(`${name}-01`, -1).slice(0, 7))
        months.unshift(name === month ? one.value : values.get(name) ?? null);
    const label = `${one.title} of 13 months, up to ${quantity(one.value, one.unit)}`;
    return h("li", {class: "card", "data-measure": one.measure, "data-place": one.place},
        h("h2", null, link ? h("a", {href: link, "data-key": `card ${one.measure}`}, one.title)
                           : one.title),
        h("p", {class: "value"}, measure(one.value, one.unit),
            one.is_sum ? h("span", {class: "unit"}, " a day") : null),
        h("p", {class: "muted small"}, one.words.charAt(0).toUpperCase() + one.words.slice(1), "."),
        sparkline(months, label));
}

export default {title: "Trends", load, draw};
