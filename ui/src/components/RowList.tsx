// A long list of which only what is on screen is drawn, and the box that filters it. Which rows there are, and what keys do with them,
// is the page's.

import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useRef, type ReactNode, type Ref, type RefObject } from "react";
import css from "./RowList.module.css";

export interface Rows {
  scroll: RefObject<HTMLDivElement | null>;
  virtual: Virtualizer<HTMLDivElement, Element>;
  keyOf: (index: number) => string;
}

/** `height` is the guess for a row that was not drawn yet. */
export function useRows(count: number, keyOf: (index: number) => string, height: number | ((index: number) => number)): Rows {
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer<HTMLDivElement, Element>({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: typeof height === "number" ? () => height : height,
    getItemKey: keyOf,
    overscan: 12,
    // Until the window is measured, as much as a usual one shows.
    initialRect: { width: 900, height: 700 },
  });
  return { scroll, virtual, keyOf };
}

/** `children` stand below the rows: that there are none, or that there are more. */
export function RowList({ rows, label, renderRow, children }: { rows: Rows; label: string; renderRow: (index: number) => ReactNode; children?: ReactNode }) {
  const { scroll, virtual, keyOf } = rows;
  return (
    <div ref={scroll} className={css.scroll}>
      <div role="list" aria-label={label} style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => (
          <div key={keyOf(item.index)} role="listitem" data-index={item.index} ref={virtual.measureElement} className={css.line} style={{ transform: `translateY(${item.start}px)` }}>
            {renderRow(item.index)}
          </div>
        ))}
      </div>
      {children}
    </div>
  );
}

/** Escape and Enter give the keys back to the page. */
export function FilterBox({ ref, label, placeholder, value, onChange }: { ref: Ref<HTMLInputElement>; label: string; placeholder: string; value: string; onChange: (text: string) => void }) {
  return (
    <input
      ref={ref}
      type="search"
      className={css.filter}
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
      }}
    />
  );
}
