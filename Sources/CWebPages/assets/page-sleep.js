/** Sleep: nights as bars of stages, how regular they are, and all years month by month. */
import {getOrNone} from "./api.js";
import {behind, choices, empty, h, table} from "./dom.js";
import {
    accountZone,
    civilDay,
    clockTime,
    dated,
    dayOf,
    measure,
    number,
    shortLength,
    startOfDay,
    zoneOffset
} from "./format.js";
import {byYear, lastDay, monthBars, monthName} from "./months.js";
import {loadNights, regularity} from "./nights.js";
import {hourAxis, nightPicture, stageKey} from "./pictures.js";

const lengths = [14, 30, 90];
const all = "all";
const minute = 60_000;
const hour = 60 * minute;

async function load({query, signal}) {
    const month = /^\d{4}-\d\d$/.test(query.get("month") ?? "") ? query.get("month") : null;
    const asked = query.get("days");
    if (!month && asked === all) {
        return {chosen: all, months: (await getOrNone("nights", {by: "month"}, signal))?.rows ?? []};
    }
    const days = lengths.includes(Number(asked)) ? Number(asked) : 14;
    const span = month ? {since: `${month}-01`, until: lastDay(month)} : {since: `${days}d`};
    return {chosen: month ? null : days, month, ...await loadNights(span, signal)};
}

/** Minutes from the midnight between evening and morning. */
const minuteOfNight = (instant) => {
    const clock = (((instant + zoneOffset(instant)) / minute) % 1440 + 1440) % 1440;
    return clock >= 720 ? clock - 1440 : clock;
};

/** A time of night as a clock shows it. */
const nightClock = (minutes) => dated(
    Date.UTC(2026, 0, 2) + minutes * minute, {timeZone: "UTC", hour: "numeric", minute: "2-digit"});

function draw(data, place) {
    const options = [...lengths.map((length) => [length, `${length} nights`]), [all, "All years"]];
    const open = {...place, setQuery: (changes) => place.setQuery({month: null, ...changes})};
    const heading = [
        h("h1", null, data.month ? `Sleep in ${monthName(data.month, "long")}` : "Sleep"),
        h("div", {class: "controls"}, choices("Nights", "days", options, data.chosen, open)),
    ];
    if (data.chosen === all) return [heading, years(data.months, place)];
    if (data.nights.length === 0) {
        return [
            heading,
            empty("No night is recorded in these days.",
                "A night needs records of sleep. Time in bed alone makes none.")
        ];
    }
    return [
        heading, age(data), figures(whole(data.nights)),
        h("section", {class: "panel", "aria-labelledby": "nights"},
            h("div", {class: "section-head"}, h("h2", {id: "nights"}, "Nights"), stageKey()),
            bars(data.nights), behind("Nights as a table", () => nightsTable(data.rows)))
    ];
}

/** Where the newest night is older than some days, its day. */
function age({month, newest}) {
    if (month || newest === null || dayOf(Date.now() - 3 * 24 * hour) <= newest) return null;
    return h("p", {class: "lead"}, "The newest night is of ",
        civilDay(newest, {day: "numeric", month: "long", year: "numeric"}), ".");
}

/** The nights that have ended, if there are any. */
function whole(nights) {
    const over = nights.filter((night) => night.isOver);
    return over.length > 0 ? over : nights;
}

const card = (name, value, note) => h("li", {class: "card"}, h("h2", null, name),
    h("p", {class: "value"}, value), h("p", {class: "muted small"}, note));

function figures(nights) {
    const usual = regularity(nights, minuteOfNight);
    const lengths = nights.map((night) => night.asleep);
    const mean = lengths.reduce((sum, value) => sum + value, 0) / lengths.length;
    return h("ul", {class: "cards"},
        card("Asleep, on average", measure(Math.round(mean), "min"),
            `from ${shortLength(Math.min(...lengths))} to ${shortLength(Math.max(...lengths))}`),
        card("Usually asleep at", nightClock(usual.start.at),
            `half the nights within ${number(usual.start.within, 0)} min of it`),
        card("Usually awake at", nightClock(usual.end.at),
            `half the nights within ${number(usual.end.within, 0)} min of it`),
        card("Nights", number(nights.length), "that are recorded"));
}

/** Each night on the same clock, so that the eye sees when sleep begins and ends. */
function bars(nights) {
    const edges = nights.map((night) => ({night, midnight: startOfDay(night.day)}));
    const starts = edges.map(({night, midnight}) => night.start - midnight);
    const ends = edges.map(({night, midnight}) => night.end - midnight);
    const first = Math.floor(Math.min(...starts) / hour) * hour;
    const last = Math.ceil(Math.max(...ends) / hour) * hour;
    const edgesOf = (midnight) => ({from: midnight + first, to: midnight + last});
    const row = ({night, midnight}) => h("div", {class: "night-row"},
        h("span", {class: "small"}, civilDay(night.day)),
        h("div", {class: "picture"}, nightPicture(night, {...edgesOf(midnight), lanes: false})),
        h("span", {class: "small length"}, measure(Math.round(night.asleep), "min")));
    const {from, to} = edgesOf(edges[0].midnight);
    const every = matchMedia("(max-width: 600px)").matches ? 4 : 2;
    return h("div", {class: "nights"}, edges.map(row),
        h("div", {class: "night-row"}, h("span"), hourAxis(from, to, every)));
}

function nightsTable(rows) {
    const columns = [
        ["asleep_minutes", "#Asleep"], ["deep_minutes", "#Deep"], ["core_minutes", "#Core"],
        ["rem_minutes", "#REM"], ["awake_minutes", "#Awake"]
    ];
    return table(`Nights, in ${accountZone()}`,
        ["Morning of", "From", "To", ...columns.map(([, head]) => head)],
        rows.map((row) => [
            civilDay(row.night),
            clockTime(row.start),
            clockTime(row.end),
            ...columns.map(([name]) => row[name] === null ? "" : measure(row[name], "min")),
        ]));
}

/** The mean of months, each night weighing the same. */
function meanOf(months) {
    const nights = months.reduce((sum, row) => sum + row.nights, 0);
    return months.reduce((sum, row) => sum + row.nights * row.asleep_minutes, 0) / nights;
}

function years(months, place) {
    if (months.length === 0) return empty("No night is recorded.");
    const years = byYear(months);
    const nights = months.reduce((sum, row) => sum + row.nights, 0);
    const open = (month) => {
        place.setQuery({month, days: null});
        place.refresh();
    };
    const text = (row) => `${shortLength(row.asleep_minutes)} asleep on average`;
    const least = Math.min(...months.map((row) => row.asleep_minutes));
    return [
        h("p", {class: "lead"}, h("data", {value: nights, id: "all-nights"}, number(nights)),
            ` nights since ${monthName(months[0].month, "long")}. `, comparison(years)),
        h("section", {class: "panel", "aria-labelledby": "months"},
            h("h2", {id: "months"}, "Asleep, month by month"),
            monthBars(months, {
                value: (row) => row.asleep_minutes, text, open, least: Math.max(0, least - 60),
                label: `Time asleep of ${months.length} months; the table has the numbers.`
            }),
            behind("Months as a table", () => monthsTable(months))),
        h("section", {class: "plain", "aria-label": "Years"}, table("Years",
            ["Year", "#Nights", "#Asleep, on average", "#Shortest", "#Longest"],
            years.map(([year, rows]) => [
                year, number(rows.reduce((sum, row) => sum + row.nights, 0)),
                measure(Math.round(meanOf(rows)), "min"),
                measure(Math.round(Math.min(...rows.map((row) => row.least_minutes))), "min"),
                measure(Math.round(Math.max(...rows.map((row) => row.most_minutes))), "min"),
            ]))),
    ];
}

/** How the latest year compares with the one before, in words. */
function comparison(years) {
    if (years.length < 2) return "";
    const [[year, rows], [before, formerRows]] = years;
    const difference = Math.round(meanOf(rows) - meanOf(formerRows));
    if (difference === 0) return `Nights of ${year} were as long as those of ${before}.`;
    return `Nights of ${year} were ${number(Math.abs(difference))} min `
        + `${difference > 0 ? "longer" : "shorter"} than those of ${before}, on average.`;
}

function monthsTable(months) {
    const within = (minutes) => minutes === null ? "" : `${number(minutes, 0)} min`;
    return table("Months",
        ["Month", "#Nights", "#Asleep", "Usually from", "#Half within", "To", "#Half within"],
        [...months].reverse().map((row) => [
            h("a", {href: `/sleep?month=${row.month}`}, monthName(row.month)), number(row.nights),
            measure(Math.round(row.asleep_minutes), "min"), nightClock(row.usual_start), within(row.start_within),
            nightClock(row.usual_end), within(row.end_within),
        ]));
}

export default {title: "Sleep", load, draw};
