/** The part of the tree's lines that crosses one row, and the row's sign on its lane. */
import { crossingLane, isOnRowPath, type Layout, type Row } from "./layout";
import css from "./Tree.module.css";

export const rowHeight = 34;
const middle = rowHeight / 2;
const first = 16;

/** Lanes draw closer together where there are many, so that the words keep their room. */
function laneStep(lanes: number): number {
  if (lanes <= 4) return 20;
  return lanes <= 8 ? 13 : 8;
}

const laneX = (lane: number, lanes: number): number => first + lane * laneStep(lanes);

export const textStart = (lane: number, lanes: number): number => laneX(lane, lanes) + 16;

type Tone = "active" | "viewed" | "plain";

interface LinesProps {
  readonly row: Row;
  readonly at: number;
  readonly layout: Layout;
  readonly paths: { readonly active: readonly number[]; readonly viewed: readonly number[] };
  readonly tool: boolean;
}

export function Lines({ row, at, layout, paths, tool }: LinesProps) {
  const x = (lane: number): number => laneX(lane, layout.lanes);
  const crossed: readonly [number, Tone][] = [[crossingLane(layout, paths.active, at), "active"], [crossingLane(layout, paths.viewed, at), "viewed"]];
  const toneOfLane = (lane: number): Tone => crossed.find(([crossing]) => crossing === lane)?.[1] ?? "plain";
  const own: Tone = row.active ? "active" : isOnRowPath(paths.viewed, at) ? "viewed" : "plain";
  const gap = row.kind === "fold" ? 9 : 0;
  const below = layout.rows[at + 1];
  const goesOn = row.active ? at < layout.headRow || below?.active === true : own === "viewed" && at < (paths.viewed.at(-1) ?? -1);
  return (
    <svg className={css.lines} width={x(row.lane) + 12} height={rowHeight} aria-hidden="true">
      {Array.from({ length: row.lane }, (_, lane) => (
        <path key={lane} d={`M${x(lane)} 0V${rowHeight}`} data-tone={toneOfLane(lane)} />
      ))}
      {row.parent >= 0 && <path d={row.side ? bend(x(row.lane - 1), x(row.lane)) : `M${x(row.lane)} 0V${middle - gap}`} data-tone={own} />}
      {row.continues && <path d={`M${x(row.lane)} ${middle + gap}V${rowHeight}`} data-tone={goesOn ? own : "plain"} />}
      <Sign row={row} cx={x(row.lane)} tone={own} tool={tool} />
    </svg>
  );
}

function bend(from: number, to: number): string {
  // Begins in the row above, where the same lane runs on anyway: half a row is too short for a smooth bend.
  return `M${from} ${-middle * 0.7}C${from} ${middle * 0.5} ${to} ${-middle * 0.4} ${to} ${middle}`;
}

function Sign({ row, cx, tone, tool }: { row: Row; cx: number; tone: Tone; tool: boolean }) {
  switch (row.kind) {
    case "pause":
      return (
        <g className={css.pause}>
          <circle cx={cx} cy={middle} r="7" />
          <path d={`M${cx - 2} ${middle - 3}v6M${cx + 2} ${middle - 3}v6`} />
        </g>
      );
    case "call": return <circle className={css.call} cx={cx} cy={middle} r="5" />;
    case "fold": return <g className={css.fold} data-tone={tone}>{[-5, 0, 5].map((dy) => <circle key={dy} cx={cx} cy={middle + dy} r="1.7" />)}</g>;
    case "start": return <circle className={css.node} cx={cx} cy={middle} r="3" data-tone={tone} />;
    case "node":
      if (row.head) return <g className={css.head}><circle cx={cx} cy={middle} r="6.5" /><circle cx={cx} cy={middle} r="2.4" /></g>;
      if (tool) return <rect className={css.node} x={cx - 5} y={middle - 5} width="10" height="10" rx="2.5" data-tone={tone} />;
      return <circle className={css.node} cx={cx} cy={middle} r="5" data-tone={tone} />;
  }
}
