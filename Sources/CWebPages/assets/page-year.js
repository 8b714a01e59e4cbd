/** A year in review: each measure by month beside the year before, sleep, workouts and goals. */
import {getOrNone} from "./api.js";
import {behind, button, h, noData, table} from "./dom.js";
import {addDays, civilDay, dated, measure, number, quantity} from "./format.js";
import {monthName} from "./months.js";
import {bars} from "./pictures.js";

async function load({query, signal}) {
    const asked = query.get("year") ?? "";
    const year = /^(19|[2-9]\d)\d\d$/.test(asked) ? asked : null;
    return getOrNone("year", {year}, signal);
}

/** A time of night as a clock shows it, from minutes after midnight. */
const nightClock = (minutes) => dated(Date.UTC(2026, 0, 2) + minutes * 60_000,
    {timeZone: "UTC", hour: "numeric", minute: "2-digit"});

function draw(answer, place) {
    if (!answer) return [h("h1", null, "A year in review"), noData()];
    const {year, measures, nights, activities} = answer;
    const open = (other) => {
        place.setQuery({year: String(other)});
        place.refresh();
    };
    const isEmpty = measures.length === 0 && !nights && activities.length === 0
        && answer.ring_days === 0;
    return [
        h("h1", null, `${year} in review`),
        h("div", {class: "controls"},
            h("div", {class: "buttons", role: "group", "aria-label": "Year"},
                button(`← ${year - 1}`, "before", () => open(year - 1)),
                answer.is_over ? button(`${year + 1} →`, "after", () => open(year + 1)) : null),
            button("Print", "print", () => window.print())),
        isEmpty ? h("p", {class: "muted"}, `Nothing is recorded of ${year}.`) : null,
        answer.is_over || isEmpty ? null
            : h("p", {class: "lead"}, "The year is not over yet. It is compared with the same part "
                + `of ${year - 1}.`),
        measures.length === 0 ? null
            : h("ul", {class: "cards"}, measures.map((one) => card(one, year))),
        measures.length === 0 ? null : behind("The year as a table", () => table("The year",
            ["Measure", `#${year}`, `#${year - 1}`, "#Days", "Highest in", "Lowest in"],
            measures.map((one) => [
                one.title, measure(one.value, one.unit),
                one.before === null ? "" : measure(one.before, one.unit), number(one.days),
                one.highest ? monthName(one.highest) : "", one.lowest ? monthName(one.lowest) : "",
            ]))),
        nights ? sleep(nights) : null,
        activities.length === 0 ? null : workouts(activities),
        answer.ring_days === 0 ? null : h("section", {class: "panel", "aria-labelledby": "goals"},
            h("h2", {id: "goals"}, h("a", {href: "/activity?days=all"}, "Goals")),
            h("p", null, "Every goal was met on ",
                h("data", {value: answer.rings_closed, id: "rings"}, number(answer.rings_closed)),
                ` of ${number(answer.ring_days)} days, at most ${
                    number(answer.longest_streak)} in a row.`)),
    ];
}

function card(one, year) {
    const change = one.before > 0 ? 100 * (one.value / one.before - 1) : null;
    const compared = one.before === null ? `nothing is known of ${year - 1}`
        : change === null || Math.abs(change) < 0.05 ? `as in ${year - 1}`
        : `${number(Math.abs(change))} % ${change > 0 ? "more" : "less"} than in ${year - 1}`;
    const values = new Map(one.months.map((month) => [Number(month.month.slice(5)), month.value]));
    const months = Array.from({length: 12}, (_, index) => values.get(index + 1) ?? null);
    const best = one.best_day
        ? `, most on ${civilDay(one.best_day, {day: "numeric", month: "short"})}` : "";
    return h("li", {class: "card", "data-measure": one.measure},
        h("h2", null, one.title),
        h("p", {class: "value"}, measure(one.value, one.unit),
            one.is_sum ? h("span", {class: "unit"}, " a day") : null),
        h("p", {class: "muted small"}, compared, best, "."),
        bars(months, {
            isFromZero: one.is_sum,
            label: `${one.title} of twelve months, up to ${
                quantity(Math.max(...one.months.map((month) => month.value)), one.unit)}`,
            text: (value, index) => `${monthName(addDays(`${year}-01-15`, 30 * index).slice(0, 7))
                }: ${quantity(value, one.unit)}`,
        }));
}

function sleep(nights) {
    return h("section", {class: "panel", "aria-labelledby": "nights"},
        h("h2", {id: "nights"}, h("a", {href: "/sleep?days=all"}, "Sleep")),
        h("p", null, h("data", {value: nights.nights, id: "year-nights"}, number(nights.nights)),
            " nights, ", measure(Math.round(nights.asleep_minutes), "min"), " asleep on average",
            nights.usual_start === null ? "."
                : `, usually from ${nightClock(nights.usual_start)} to ${
                    nightClock(nights.usual_end)}.`));
}

function workouts(activities) {
    const sum = (name) => activities.reduce((sum, one) => sum + one[name], 0);
    return h("section", {class: "panel", "aria-labelledby": "workouts"},
        h("h2", {id: "workouts"}, h("a", {href: "/workouts?days=all"}, "Workouts")),
        h("p", null, h("data", {value: sum("workouts"), id: "year-workouts"},
            number(sum("workouts"))), " workouts, ", measure(Math.round(sum("minutes")), "min"),
            " in all."),
        table("Workouts", ["Activity", "#Workouts", "#Time", "#Distance"],
            activities.map((one) => [
                one.title, number(one.workouts), measure(Math.round(one.minutes), "min"),
                one.distance === null ? "" : measure(one.distance, one.distance_unit)
            ])));
}

export default {title: "A year in review", load, draw};
