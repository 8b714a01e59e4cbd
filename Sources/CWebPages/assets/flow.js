/**
 * The flow of records as a picture: columns of blocks whose heights are counts, and bands between
 * them.
 */
import {h, svg} from "./dom.js";
import {number} from "./format.js";

const height = 300;
const gap = 14;
const least = 3;

/**
 * @typedef {{id: string, name: string, value: number, alarm?: boolean, beside?: string}} Block
 *     beside: a block of an earlier column below whose top this one begins
 * @typedef {{from: string, to: string, value: number, joins?: boolean}} Band
 *
 * @param {Block[][]} columns
 * @param {Band[]} bands
 */
export function flow(columns, bands) {
    const shown = columns.map((blocks) => blocks.filter((block) => block.value > 0));
    const places = new Map();
    const width = 900;
    const thick = 12;
    const room = Math.min(...shown.filter((blocks) => blocks.length > 0)
            .map((blocks) => height - gap * (blocks.length - 1)));
    const most =
        Math.max(...shown.map((blocks) => blocks.reduce((sum, block) => sum + block.value, 0)));
    // A single sample in a million must still be seen, so small blocks are higher than their share.
    const size = (value) => Math.max(least, room * value / most);
    shown.forEach((blocks, column) => {
        let y = 12;
        const x = column * (width - 165) / (columns.length - 1);
        for (const block of blocks) {
            y = Math.max(y, places.get(block.beside)?.y ?? 0);
            places.set(block.id, {x, y, height: size(block.value), out: y, in : y, block});
            // The name and the count need two lines.
            y += Math.max(size(block.value), 30) + gap;
        }
    });
    const total = Math.max(
        ...[...places.values()].map((place) => Math.max(place.y + place.height, place.y + 34)));
    const isDrawn = (band) => band.value > 0 && places.has(band.from) && places.has(band.to);
    const label = "The flow of records";
    return h("div", {class: "scroll flow-scroll", tabindex: 0, role: "region", "aria-label": label},
        svg("svg", {
            class: "flow", viewBox: `0 0 ${width} ${total + 8}`, role: "img",
            "aria-label": `${label}; the table has the same sums`,
        },
        bands.filter(isDrawn).map((band) => bandOf(band, places, size, thick)),
        [...places.values()].map((place) => blockOf(place, thick))));
}

function blockOf({x, y, height, block}, thick) {
    const left = x + thick + 8;
    return svg("g", {class: block.alarm ? "block alarmed" : "block"},
        svg("rect", {x, y, width: thick, height, rx: 2}),
        svg("text", {x: left, y: y + 11}, block.name),
        svg("text", {class: "figure", x: left, y: y + 27, "data-block": block.id},
            number(block.value)));
}

function bandOf(band, places, size, thick) {
    const from = places.get(band.from);
    const to = places.get(band.to);
    const [x1, x2] = [from.x + thick, to.x];
    // Many records make few days: such a band is as high at each end as what it joins.
    const [left, right] = [
        Math.min(band.joins ? from.height : size(band.value), from.height),
        Math.min(size(band.value), to.height)
    ];
    const [y1, y2] = [
        Math.min(from.out, from.y + from.height - left), Math.min(to.in, to.y + to.height - right)
    ];
    from.out += left;
    to.in += right;
    const middle = (x1 + x2) / 2;
    return svg("path", {
        class: to.block.alarm ? "band alarmed" : "band",
        d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}V${y2 + right}` +
            `C${middle} ${y2 + right} ${middle} ${y1 + left} ${x1} ${y1 + left}Z`
    });
}
