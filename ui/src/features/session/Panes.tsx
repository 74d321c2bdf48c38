/** The three panes side by side; their widths are remembered with the settings. */
import { PanelLeft, PanelRight } from "lucide-react";
import { useState } from "react";
import { Group, Panel, Separator, usePanelRef } from "react-resizable-panels";
import { ActionButton, useActions } from "../../actions/hooks";
import type { Action } from "../../actions/action";
import { useDesk } from "../../store/hooks";
import { Composer } from "../composer/Composer";
import { Inspector } from "../inspector/Inspector";
import { Transcript } from "../transcript/Transcript";
import { Tree } from "../tree/Tree";
import { SessionHeader } from "./SessionHeader";
import css from "./Session.module.css";

const setting = "session_panes";

/** Widths in pixels. A small window begins without the inspector: three panes would leave no room to read in. */
const wide = { tree: 264, inspector: 304 };
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
  return (
    <>
    <SessionHeader tools={toggles.map((action) => <ActionButton key={action.id} action={action} iconOnly size="s" />)} />
    <Group
      className={css.panes} defaultLayout={readWidths(desk.store.getState().settings[setting])}
      onLayoutChanged={(layout, meta) => { if (meta.isUserInteraction) desk.saveSettings({ [setting]: layout }); }}
    >
      <Panel id="tree" panelRef={tree} className={css.treePane} collapsible minSize={160} defaultSize={first.tree} groupResizeBehavior="preserve-pixel-size"><Tree /></Panel>
      <Separator className={css.separator} aria-label="Width of the tree" />
      <Panel id="transcript" className={css.talk} minSize={300}>
        <Transcript />
        <Composer />
      </Panel>
      <Separator className={css.separator} aria-label="Width of the inspector" />
      <Panel id="inspector" panelRef={inspector} className={css.inspectorPane} collapsible minSize={220} defaultSize={first.inspector} groupResizeBehavior="preserve-pixel-size"><Inspector /></Panel>
    </Group>
    </>
  );
}

/** Percent by pane, as they were saved; anything else is no layout. */
function readWidths(saved: unknown): Record<string, number> | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const widths = Object.entries(saved).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] >= 0);
  return widths.length === 3 ? Object.fromEntries(widths) : undefined;
}
