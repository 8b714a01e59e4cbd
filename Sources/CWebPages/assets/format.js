/**
 * Numbers, times and days for people: in the reader's locale, and in the account's time zone.
 */
import {h} from "./dom.js";

let zone = "UTC";

/** Sets the account's time zone; every time and day follows it. */
export function setZone(name) {
    zone = name;
    formats.clear();
}

/** The account's time zone. */
export const accountZone = () => zone;

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** Making a format costs far more than using it. */
function format(options) {
    const key = JSON.stringify(options);
    if (!formats.has(key)) {
        formats.set(key, new Intl.DateTimeFormat(undefined, {timeZone: zone, ...options}));
    }
    return formats.get(key);
}

/** @param {string | number | Date} instant @param {Intl.DateTimeFormatOptions} options */
export const dated = (instant, options) => format(options).format(new Date(instant));

export const clockTime = (instant) => dated(instant, {hour: "numeric", minute: "2-digit"});
export const dayTime = (instant) => dated(instant, {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "numeric",
    minute: "2-digit",
});
const exactTime = (instant) => dated(instant, {dateStyle: "long", timeStyle: "long"});

/**
 * A civil day such as `2026-11-25` names no instant, so it follows no zone.
 *
 * @param {string} day
 * @param {Intl.DateTimeFormatOptions} options
 */
export const civilDay = (day, options = {
    weekday: "short",
    day: "numeric",
    month: "short"
}) => dated(`${day}T12:00:00Z`, {timeZone: "UTC", ...options});

/** The day of an instant in the account's zone, as `2026-11-25`. */
export function dayOf(instant) {
    const parts = format({
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        calendar: "gregory",
        numberingSystem: "latn"
    }).formatToParts(new Date(instant));
    const part = (type) => parts.find((one) => one.type === type).value;
    return `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`;
}

/** The day that is a number of days after another one. */
export function addDays(day, days) {
    const instant = new Date(`${day}T12:00:00Z`);
    instant.setUTCDate(instant.getUTCDate() + days);
    return instant.toISOString().slice(0, 10);
}

/** How far the account's zone is ahead of UTC at an instant, in milliseconds. */
export function zoneOffset(instant) {
    const parts = format({
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
        hourCycle: "h23",
        calendar: "gregory",
        numberingSystem: "latn"
    }).formatToParts(new Date(instant));
    const [year, month, day, hour, minute, second] =
        ["year", "month", "day", "hour", "minute", "second"].map(
            (type) => Number(parts.find((one) => one.type === type).value));
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1000) * 1000;
}

/** The instant at which a day begins in the account's zone. */
export function startOfDay(day) {
    const midnight = Date.parse(`${day}T00:00:00Z`);
    const guess = midnight - zoneOffset(midnight);
    return midnight - zoneOffset(guess);
}

/** A number with at most so many decimals, in the reader's locale. */
export const number = (value, decimals = 1) =>
    new Intl.NumberFormat(undefined, {maximumFractionDigits: decimals}).format(value);

/** A count and its noun: `1 sample`, `2 samples`. */
export const count = (value, noun, plural = `${noun}s`) =>
    `${number(value)} ${value === 1 ? noun : plural}`;

/** How many decimals tell values of a unit apart. */
function decimalsFor(value) {
    const size = Math.abs(value);
    return size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
}

const units = {
    "count/min": "/min",
    "1/min": "/min",
    count: "",
    Cal: "kcal",
    "Cal/day": "kcal",
    share: "",
    degC: "°C",
    "mL/(kg*min)": "ml/kg/min",
    "1..5": "of 5",
    "1..10": "of 10",
};

/** A unit as people write it. */
export const unitText = (unit) => units[unit] ?? unit;

/** Whether the reader's region measures ways in miles. */
export const usesMiles = () =>
    ["US", "GB", "LR", "MM"].includes(new Intl.Locale(navigator.language).maximize().region);

/** Kilometres in a mile. */
export const mile = 1.609344;

/** A value in the unit in which the reader's region measures it; only ways have another one. */
export function regional(value, unit) {
    if (unit === "km" && usesMiles()) return {value: value / mile, unit: "mi"};
    if (unit === "mi" && !usesMiles()) return {value: value * mile, unit: "km"};
    return {value, unit};
}

/**
 * A measure as a `data` element, whose value is the exact number in the unit given; what is shown is
 * in that of the reader's region.
 *
 * @param {number | null} value
 * @param {string} unit
 */
export function measure(value, unit) {
    if (value === null || value === undefined) return h("span", {class: "muted"}, "no value");
    if (unit === "min" && value >= 60) {
        return h("data", {value}, number(Math.floor(Math.round(value) / 60), 0),
            h("span", {class: "unit"}, " h "), number(Math.round(value) % 60, 0),
            h("span", {class: "unit"}, " min"));
    }
    if (unit === "share") {
        return h("data", {value}, number(value * 100, 1), h("span", {class: "unit"}, " %"));
    }
    const shown = regional(value, unit);
    const text = unitText(shown.unit);
    return h("data", {value}, number(shown.value, decimalsFor(shown.value)),
        text ? h("span", {class: "unit"}, ` ${text}`) : null);
}

/** A measure as plain text, for what has no elements in it. */
export function quantity(value, unit) {
    const shown = regional(value, unit);
    return `${number(shown.value)} ${unitText(shown.unit)}`.trim();
}

/** Minutes as hours and minutes where there is no room for units: `7 h 12`. */
export const shortLength = (minutes) =>
    `${number(Math.floor(minutes / 60))} h ${number(Math.round(minutes) % 60)}`;

/** A size in memory. */
export const mebibytes = (bytes) => `${number(bytes / 1_048_576)} MiB`;

/** A length of time in its two largest units. */
export function span(milliseconds) {
    const seconds = Math.round(milliseconds / 1000);
    if (milliseconds < 1000) return `${number(milliseconds, 0)} ms`;
    if (seconds < 60) return `${seconds} s`;
    const minutes = Math.round(seconds / 60);
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
    return count(Math.round(hours / 24), "day");
}

/** How long ago or ahead an instant is, such as `4 minutes ago`. */
export function relative(instant, now = Date.now()) {
    const seconds = (Date.parse(instant) - now) / 1000;
    /** @type {[Intl.RelativeTimeFormatUnit, number][]} */
    const steps =
        [["second", 60], ["minute", 60], ["hour", 36], ["day", 45], ["month", 18], ["year", 1e9]];
    const sizes = {second: 1, minute: 60, hour: 3600, day: 86400, month: 2629800, year: 31557600};
    if (Math.abs(seconds) < 90) return seconds > 5 ? "in a moment" : "just now";
    const [unit] = steps.find(([name, most]) => Math.abs(seconds) / sizes[name] < most);
    return new Intl.RelativeTimeFormat(undefined, {numeric: "auto"})
        .format(Math.round(seconds / sizes[unit]), unit);
}

/** An instant as its age; the exact time is its title. The application keeps ages true. */
export function age(instant) {
    if (!instant) return h("span", {class: "muted"}, "never");
    return h("time", {datetime: instant, title: exactTime(instant), "data-age": true},
        relative(instant));
}

/** An instant as day and time. */
export function moment(instant) {
    if (!instant) return null;
    return h("time", {datetime: instant, title: exactTime(instant)}, dayTime(instant));
}

/** A name such as `resting_heart_rate` as words. */
export function words(name) {
    const text =
        name.replace(
                /^HK[A-Za-z]*TypeIdentifier|^HK[A-Za-z]*Value[A-Za-z]*?(?=Asleep|Awake|InBed)/, "")
            .replace(/^HKWorkoutActivityType/, "")
            .replace(/_/g, " ")
            .replace(/([a-z])([A-Z])/g, "$1 $2")
            .toLowerCase();
    return text.charAt(0).toUpperCase() + text.slice(1);
}
