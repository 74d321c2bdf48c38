/** Texts of messages, read by id in pages as they come into sight, and kept. A recorded message never changes. */
import { useEffect, useMemo } from "react";
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";
import { asRefusal, type Transport } from "../../transport/transport";
import { readMessage, type ReadMessage } from "./message";

interface Held {
  readonly messages: ReadonlyMap<string, ReadMessage>;
  /** Why the last read failed; null once one works. */
  readonly problem: string | null;
}

export interface Bodies {
  readonly store: StoreApi<Held>;
  /** Asks for what is neither here nor on its way. */
  readonly want: (ids: readonly string[]) => void;
}

/** What the app accepts at once. */
const page = 200;

export function createBodies(transport: Pick<Transport, "nodeBodies">, sessionId: string): Bodies {
  const store = createStore<Held>(() => ({ messages: new Map(), problem: null }));
  const onTheWay = new Set<string>();
  let waiting: string[] = [];

  const read = async (ids: string[]): Promise<void> => {
    try {
      const bodies = await transport.nodeBodies(sessionId, ids);
      store.setState((held) => {
        const messages = new Map(held.messages);
        for (const body of bodies) messages.set(body.id, readMessage(body.message));
        return { messages, problem: null };
      });
    } catch (thrown) {
      store.setState({ problem: asRefusal(thrown).message });
    } finally {
      for (const id of ids) onTheWay.delete(id);
    }
  };

  const flush = (): void => {
    const ids = waiting;
    waiting = [];
    for (let from = 0; from < ids.length; from += page) void read(ids.slice(from, from + page));
  };

  return {
    store,
    want(ids) {
      const { messages } = store.getState();
      const fresh = ids.filter((id) => !messages.has(id) && !onTheWay.has(id));
      if (fresh.length === 0) return;
      if (waiting.length === 0) queueMicrotask(flush);
      for (const id of fresh) onTheWay.add(id);
      waiting.push(...new Set(fresh));
    },
  };
}

export function useBody(bodies: Bodies, id: string | null): ReadMessage | null {
  return useStore(bodies.store, (held) => (id === null ? null : (held.messages.get(id) ?? null)));
}

/** Reads what is on show. */
export function useWanted(bodies: Bodies, ids: readonly string[]): void {
  const wanted = ids.join("\n");
  const list = useMemo(() => (wanted === "" ? [] : wanted.split("\n")), [wanted]);
  useEffect(() => bodies.want(list), [bodies, list]);
}
