/** Sleep: nights as bars of stages, and how regular they are. */
import {getOrNone} from "./api.js";
import {behind, choices, empty, h, table} from "./dom.js";
import {
    accountZone,
    addDays,
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
import {asleep, loadNights, regularity} from "./nights.js";
import {hourAxis, nightPicture, stageKey} from "./pictures.js";

const lengths = [14, 30, 90];
const minute = 60_000;
const hour = 60 * minute;

async function load({query, signal}) {
    const days = lengths.includes(Number(query.get("days"))) ? Number(query.get("days")) : 14;
    const [nights, metrics] = await Promise.all([
        loadNights(days, signal),
        // The merged numbers of the same nights.
        getOrNone("metrics/sleep", {since: addDays(dayOf(Date.now()), 1 - days)}, signal),
    ]);
    return {days, nights, metrics};
}

/** Minutes from the midnight between evening and morning. */
const minuteOfNight = (instant) => {
    const clock = (((instant + zoneOffset(instant)) / minute) % 1440 + 1440) % 1440;
    return clock >= 720 ? clock - 1440 : clock;
};

/** A time of night as a clock shows it. */
const nightClock = (minutes) => dated(
    Date.UTC(2026, 0, 2) + minutes * minute, {timeZone: "UTC", hour: "numeric", minute: "2-digit"});

function draw({days, nights, metrics}, place) {
    const options = lengths.map((length) => [length, `${length} nights`]);
    const heading = [
        h("h1", null, "Sleep"),
        h("div", {class: "controls"}, choices("Nights", "days", options, days, place)),
    ];
    if (nights.length === 0) {
        return [
            heading,
            empty("No night is recorded in these days.",
                "A night needs records of sleep. Time in bed alone makes none.")
        ];
    }
    return [
        heading, figures(nights, metrics),
        h("section", {class: "panel", "aria-labelledby": "nights"},
            h("div", {class: "section-head"}, h("h2", {id: "nights"}, "Nights"), stageKey()),
            bars(nights), behind("Nights as a table", () => nightsTable(nights, metrics)))
    ];
}

function figures(nights, metrics) {
    const usual = regularity(nights, minuteOfNight);
    const totals =
        metrics?.measures.find((one) => one.measure === "total_sleep_minutes")?.days ?? [];
    const lengths =
        totals.length > 0 ? totals.map((day) => day.total ?? day.mean) : nights.map(asleep);
    const mean = lengths.reduce((sum, value) => sum + value, 0) / lengths.length;
    const figure = (name, value, note) => h("li", {class: "card"}, h("h2", null, name),
        h("p", {class: "value"}, value), h("p", {class: "muted small"}, note));
    return h("ul", {class: "cards"},
        figure("Asleep, on average", measure(Math.round(mean), "min"),
            `from ${shortLength(Math.min(...lengths))} to ${shortLength(Math.max(...lengths))}`),
        figure("Usually asleep at", nightClock(usual.start.at),
            `half the nights within ${number(usual.start.within, 0)} min of it`),
        figure("Usually awake at", nightClock(usual.end.at),
            `half the nights within ${number(usual.end.within, 0)} min of it`),
        figure("Nights", number(nights.length), "that are recorded"));
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
        h("span", {class: "small length"}, measure(Math.round(asleep(night)), "min")));
    const {from, to} = edgesOf(edges[0].midnight);
    const every = matchMedia("(max-width: 600px)").matches ? 4 : 2;
    return h("div", {class: "nights"}, edges.map(row),
        h("div", {class: "night-row"}, h("span"), hourAxis(from, to, every)));
}

function nightsTable(nights, metrics) {
    const value = (measureName, day) => {
        const found = metrics?.measures.find((one) => one.measure === measureName);
        const row = found?.days.find((one) => one.day === day);
        return row ? measure(row.total ?? row.mean, found.unit) : "";
    };
    const columns = [
        ["total_sleep_minutes", "#Asleep"], ["deep_sleep_minutes", "#Deep"],
        ["light_sleep_minutes", "#Core"], ["rem_sleep_minutes", "#REM"],
        ["awake_minutes", "#Awake"], ["sleep_efficiency", "#Efficiency"]
    ];
    return table(`Nights, in ${accountZone()}`,
        ["Morning of", "From", "To", ...columns.map(([, head]) => head)],
        nights.map((night) => [
            civilDay(night.day),
            clockTime(night.start),
            clockTime(night.end),
            ...columns.map(([name]) => value(name, night.day)),
        ]));
}

export default {title: "Sleep", load, draw};
