/** Records: every type that is kept, and its records one by one with their metadata. */
import {getOrNone, shortType} from "./api.js";
import {behind, button, empty, facts, h, noData, table} from "./dom.js";
import {addDays, civilDay, count, dayOf, moment, number, span, unitText, words} from "./format.js";
import {lastDay, monthName} from "./months.js";

/** How many records are shown at once. */
const step = 100;
/** From how many records a day on a page shows a day, and from how many a month. */
const [dense, sparse] = [40, 1];

async function load({query, signal}) {
    const types = await getOrNone("records", {}, signal) ?? [];
    const type = types.find((one) => shortType(one.type) === shortType(query.get("type") ?? ""));
    if (!type) return {types};
    const days = 1 + (Date.parse(type.last_at) - Date.parse(type.first_at)) / 86_400_000;
    const rate = type.records / days;
    const length = rate > dense ? "day" : rate > sparse ? "month" : "year";
    const asked = query.get("of") ?? "";
    const of = /^\d{4}(-\d\d(-\d\d)?)?$/.test(asked)
        ? asked.slice(0, {day: 10, month: 7, year: 4}[length])
        : dayOf(type.last_at).slice(0, {day: 10, month: 7, year: 4}[length]);
    const shown = Math.max(step, Number(query.get("shown")) || 0);
    const answer = await getOrNone("records",
        {type: shortType(type.type), by: "raw", ...edges(of)}, signal);
    return {types, type, of, shown, rows: (answer?.rows ?? []).reverse()};
}

/** The first and the last day of a day, a month or a year. */
function edges(of) {
    if (of.length === 10) return {since: of, until: of};
    if (of.length === 7) return {since: `${of}-01`, until: lastDay(of)};
    return {since: `${of}-01-01`, until: `${of}-12-31`};
}

/** Whether the API takes the name of a type: records of others stand together under one name. */
const isPlain = (one) => /^[A-Za-z]\w*$/.test(shortType(one.type));

const nameOf = (of) => of.length === 4 ? of : of.length === 7 ? monthName(of, "long")
    : civilDay(of, {weekday: "long", day: "numeric", month: "long", year: "numeric"});

function draw(data, place) {
    if (!data.type) return list(data.types);
    const {type, of, rows, shown} = data;
    const {since, until} = edges(of);
    const go = (day) => {
        place.setQuery({of: day.slice(0, of.length), shown: null});
        place.refresh();
    };
    const [first, last] = [type.first_at, type.last_at].map((at) => dayOf(at));
    return [
        h("p", {class: "small"}, h("a", {href: "/records"}, "Records")),
        h("h1", null, type.title),
        h("p", {class: "lead"},
            h("data", {value: type.records, id: "records"}, count(type.records, "record")),
            `, from ${civilDay(first, {dateStyle: "medium"})} to `,
            `${civilDay(last, {dateStyle: "medium"})}. `,
            type.units.length > 0 ? h("a", {href: `/explore?type=${type.type}`}, "Show as a chart")
                : null),
        h("div", {class: "controls"}, h("div", {class: "buttons", role: "group", "aria-label": "Time"},
            since > first ? button("← Earlier", "before", () => go(addDays(since, -1))) : null,
            until < last ? button("Later →", "after", () => go(addDays(until, 1))) : null)),
        h("section", {class: "plain", "aria-labelledby": "of"},
            h("h2", {id: "of"}, nameOf(of), ": ",
                h("data", {value: rows.length, id: "shown"}, count(rows.length, "record"))),
            rows.length === 0 ? empty("Nothing is recorded of this time.")
                : h("ul", {class: "records"}, rows.slice(0, shown).map(record)),
            rows.length <= shown ? null : h("p", null, button("Show more", "more", () => {
                place.setQuery({shown: String(shown + step)});
                place.refresh();
            }))),
    ];
}

function list(types) {
    if (types.length === 0) return [h("h1", null, "Records"), noData()];
    const total = types.reduce((sum, one) => sum + one.records, 0);
    const sorted = [...types].sort((a, b) => a.title.localeCompare(b.title));
    return [
        h("h1", null, "Records"),
        h("p", {class: "lead"}, h("data", {value: total, id: "all-records"}, number(total)),
            ` records of ${count(types.length, "type")}, as your sources have them.`),
        h("section", {class: "plain", "aria-label": "Types"},
            table("Types", ["Type", "#Records", "From", "To", "Unit"], sorted.map((one) => [
                isPlain(one) ? h("a", {href: `/records?type=${shortType(one.type)}`}, one.title)
                             : one.title,
                number(one.records), civilDay(dayOf(one.first_at), {dateStyle: "medium"}),
                civilDay(dayOf(one.last_at), {dateStyle: "medium"}),
                one.units.map(unitText).join(", ")
            ]))),
    ];
}

function record(row, index) {
    const length = Date.parse(row.end) - Date.parse(row.start);
    const isNumber = row.unit !== null && row.unit !== undefined && row.value !== null;
    const entries = Object.entries(row.metadata ?? {});
    return h("li", null,
        moment(row.start),
        h("span", null,
            row.value === null || row.value === undefined ? null
                : isNumber ? [h("data", {value: row.value}, row.value),
                    h("span", {class: "unit"}, ` ${unitText(row.unit)}`)]
                : words(row.value.replace(/^HKCategoryValue/, "")),
            length > 0 ? h("span", {class: "muted small"}, ` ${span(length)}`) : null),
        h("span", {class: "muted small"}, row.source ?? ""),
        entries.length === 0 ? null
            : behind(`${count(entries.length, "entry", "entries")} of metadata of ${
                civilDay(dayOf(row.start))}, ${index + 1}`, () => facts(entries.map(
                ([name, text]) => [name.replace(/^HKMetadataKey|^HK/, ""), text]))));
}

export default {title: "Records", load, draw};
