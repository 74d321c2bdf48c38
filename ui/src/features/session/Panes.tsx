/** The three panes side by side; their widths are remembered with the settings. */
import { PanelLeft, PanelRight } from "lucide-react";
import { useEffect, useState } from "react";
import { Group, Panel, Separator, usePanelRef } from "react-resizable-panels";
import { ActionButton, useActions } from "../../actions/hooks";
import type { Action } from "../../actions/action";
import { useDesk } from "../../store/hooks";
import { Composer } from "../composer/Composer";
import { Inspector } from "../inspector/Inspector";
import { Transcript } from "../transcript/Transcript";
import { Tree } from "../tree/Tree";
import { SessionHeader } from "./SessionHeader";
import { useSession, useView } from "./view";
import css from "./Session.module.css";

const setting = "session_panes";

/** Widths in pixels. A small window begins without the inspector: three panes would leave no room to read in. */
const wide = { tree: 248, inspector: 332 };
const narrow = { tree: 210, inspector: 0 };
const narrowBelow = 1100;

export function Panes() {
  const desk = useDesk();
  const tree = usePanelRef();
  const inspector = usePanelRef();
  const [first] = useState(() => (window.innerWidth < narrowBelow ? narrow : wide));
  const toggle = (pane: typeof tree): void => {
    if (pane.current?.isCollapsed() === true) pane.current.expand();
    else pane.current?.collapse();
  };
  const toggles: Action[] = [
    { id: "session.tree", title: "Show or hide the tree", section: "Session", keys: ["["], icon: PanelLeft, run: () => toggle(tree) },
    { id: "session.inspector", title: "Show or hide the inspector", section: "Session", keys: ["]"], icon: PanelRight, run: () => toggle(inspector) },
  ];
  useActions(toggles);
  useWriteAfter();
  // A collapsed pane keeps its state but leaves the document's order: Tab must not go into what cannot be seen.
  const [collapsed, setCollapsed] = useState({ tree: false, inspector: first.inspector === 0 });
  const heed = (pane: "tree" | "inspector") => ({ inPixels }: { inPixels: number }): void => {
    const now = inPixels === 0;
    setCollapsed((before) => (before[pane] === now ? before : { ...before, [pane]: now }));
  };
  return (
    <>
    <SessionHeader tools={toggles.map((action) => <ActionButton key={action.id} action={action} iconOnly size="s" />)} />
    <Group
      className={css.panes} defaultLayout={readWidths(desk.store.getState().settings[setting])}
      onLayoutChanged={(layout, meta) => { if (meta.isUserInteraction) desk.saveSettings({ [setting]: layout }); }}
    >
      <Panel id="tree" panelRef={tree} className={css.treePane} collapsible minSize={160} defaultSize={first.tree} groupResizeBehavior="preserve-pixel-size" onResize={heed("tree")}><div className={css.inside} hidden={collapsed.tree}><Tree /></div></Panel>
      <Separator className={css.separator} aria-label="Width of the tree" />
      <Panel id="transcript" className={css.talk} minSize={300}>
        <Transcript />
        <Composer />
      </Panel>
      <Separator className={css.separator} aria-label="Width of the inspector" />
      <Panel id="inspector" panelRef={inspector} className={css.inspectorPane} collapsible minSize={220} defaultSize={first.inspector} groupResizeBehavior="preserve-pixel-size" onResize={heed("inspector")}><div className={css.inside} hidden={collapsed.inspector}><Inspector /></div></Panel>
    </Group>
    </>
  );
}

/** "Branch from here" ends in the composer, once the engine made that message the head. */
function useWriteAfter(): void {
  const { model, view } = useSession();
  const after = useView((now) => now.writeAfter);
  const asking = useView((now) => now.dialog !== null);
  const ready = after !== null && after === model.followed.head_id && model.active && !asking;
  useEffect(() => {
    if (!ready) return;
    view.setState({ writeAfter: null });
    // A frame later the dialog that asked has given the focus back.
    requestAnimationFrame(() => document.querySelector<HTMLTextAreaElement>('textarea[aria-label="Message"]')?.focus());
  }, [ready, view]);
}

/** Percent by pane, as they were saved; anything else is no layout. */
function readWidths(saved: unknown): Record<string, number> | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const widths = Object.entries(saved).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] >= 0);
  return widths.length === 3 ? Object.fromEntries(widths) : undefined;
}
