// A button with a menu of things to do or to choose.

import { Menu as Base } from "@base-ui/react/menu";
import { Check } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import css from "./Menu.module.css";

interface MenuItem {
  label: string;
  run: () => void;
  /** For a choice: the one that holds now. */
  chosen?: boolean;
  hint?: string;
}

export interface MenuProps {
  trigger: ReactElement;
  sections: { title?: string; items: MenuItem[] }[];
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
  children?: ReactNode;
}

export function Menu({ trigger, sections, open, onOpenChange }: MenuProps) {
  return (
    <Base.Root {...(open === undefined ? {} : { open })} onOpenChange={(next) => onOpenChange?.(next)}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className={css.positioner}>
          <Base.Popup className={css.popup}>
            {sections.map((section) => (
              <Base.Group key={section.title ?? ""} className={css.group}>
                {section.title !== undefined && <Base.GroupLabel className={css.title}>{section.title}</Base.GroupLabel>}
                {section.items.map((item) => (
                  <Base.Item key={item.label} className={css.item} onClick={item.run}>
                    <span className={css.check}>{item.chosen === true && <Check aria-label="chosen" />}</span>
                    {item.label}
                    {item.hint !== undefined && <span className={css.hint}>{item.hint}</span>}
                  </Base.Item>
                ))}
              </Base.Group>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
