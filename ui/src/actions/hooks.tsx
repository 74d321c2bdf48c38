// How components offer actions and draw buttons for them.

import { createContext, use, useEffect, useLayoutEffect, useRef } from "react";
import { Button, IconButton, type ButtonProps } from "../components/Button";
import { keyLabel, type Action } from "./action";
import { createRegistry, type Registry } from "./registry";

export const RegistryContext = createContext<Registry>(createRegistry());

export function useRegistry(): Registry {
  return use(RegistryContext);
}

/** Offers these actions while the component is mounted; always the newest closures run. */
export function useActions(actions: readonly Action[]): void {
  const registry = useRegistry();
  const newest = useRef(actions);
  useLayoutEffect(() => {
    newest.current = actions;
  });
  useEffect(() => registry.register(() => newest.current), [registry]);
}

/** Listens for keys of the whole window. Mounted once. */
export function useKeyboard(): void {
  const registry = useRegistry();
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => void registry.press(event);
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [registry]);
}

/** A button that is the action: its title, its key, its run. */
export function ActionButton({ action, iconOnly = false, label, ...rest }: Omit<ButtonProps, "onClick" | "icon"> & { action: Action; iconOnly?: boolean; label?: string }) {
  const Icon = action.icon;
  const key = action.keys?.[0];
  if (iconOnly && Icon !== undefined) {
    return (
      <IconButton label={action.title} keyHint={key === undefined ? undefined : keyLabel(key)} onClick={action.run} {...rest}>
        <Icon />
      </IconButton>
    );
  }
  return (
    <Button icon={Icon === undefined ? undefined : <Icon aria-hidden="true" />} keyHint={key === undefined ? undefined : keyLabel(key)} onClick={action.run} {...rest}>
      {label ?? action.title}
    </Button>
  );
}
