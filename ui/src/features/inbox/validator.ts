// JSON Schema checks for forms without generated code: the page's content policy forbids eval.

import { Validator, type OutputUnit, type Schema } from "@cfworker/json-schema";
import { toErrorSchema, type RJSFSchema, type RJSFValidationError, type ValidatorType } from "@rjsf/utils";

export interface Fault {
  /** `["a", "0", "b"]`; empty for the whole value. */
  path: string[];
  message: string;
}

/** Everything wrong with the value, each place once. A value that is not there at all is one fault. */
export function faults(schema: unknown, value: unknown): Fault[] {
  const clean = withoutUndefined(value);
  if (clean === undefined) return [{ path: [], message: "needs a value" }];
  try {
    const { errors } = new Validator(schema as Schema, "2020-12", false).validate(clean);
    return telling(errors).map((unit) => ({ path: pathOf(unit), message: sentence(unit) }));
  } catch (thrown) {
    return [{ path: [], message: `The schema cannot be checked: ${thrown instanceof Error ? thrown.message : String(thrown)}` }];
  }
}

/** An outer unit only says that something inside failed; the inner one says what. */
function telling(units: OutputUnit[]): OutputUnit[] {
  const wrappers = new Set(["properties", "items", "$ref", "allOf", "prefixItems", "additionalItems"]);
  const inner = units.filter((unit) => !wrappers.has(unit.keyword) && !(unit.keyword === "false" && unit.keywordLocation.includes("additionalProperties")));
  return inner.length > 0 ? inner : units;
}

function pathOf(unit: OutputUnit): string[] {
  const parts = unit.instanceLocation.split("/").slice(1).map((part) => decodeURIComponent(part.replaceAll("~1", "/").replaceAll("~0", "~")));
  const missing = unit.keyword === "required" ? /"([^"]+)"/.exec(unit.error)?.[1] : undefined;
  return missing === undefined ? parts : [...parts, missing];
}

function sentence(unit: OutputUnit): string {
  return unit.keyword === "required" ? "is required" : unit.error.replace(/^Instance /, "").replace(/\.$/, "");
}

function withoutUndefined(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

/** The same checks in the shape the form library asks for. */
export const formValidator: ValidatorType = {
  validateFormData(formData, schema) {
    const errors = faults(schema, formData ?? (schema.type === "object" ? {} : undefined)).map(
      (fault): RJSFValidationError => ({
        property: fault.path.map((part) => `.${part}`).join(""),
        message: fault.message,
        stack: `${fault.path.join(".")} ${fault.message}`.trim(),
      }),
    );
    return { errors, errorSchema: toErrorSchema(errors) };
  },
  isValid(schema, formData, rootSchema) {
    // References inside a part point into the whole.
    const whole: RJSFSchema = { ...schema, definitions: rootSchema.definitions, $defs: rootSchema.$defs };
    return faults(JSON.parse(JSON.stringify(whole)) as unknown, formData).length === 0;
  },
  rawValidation(schema, formData) {
    return { errors: faults(schema, formData) as never[] };
  },
};

const simple = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

/** Whether a form can show the whole schema; else the answer is typed as JSON. */
export function canShow(schema: unknown, depth = 0): boolean {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema) || depth > 12) return false;
  const part = schema as Record<string, unknown>;
  if (["patternProperties", "prefixItems", "not", "if", "dependentSchemas", "propertyNames", "contains", "unevaluatedProperties"].some((word) => word in part)) return false;
  if (typeof part.$ref === "string") return part.$ref.startsWith("#/");
  const choices = part.oneOf ?? part.anyOf ?? part.allOf;
  if (Array.isArray(choices)) return choices.every((choice) => isConst(choice) || canShow(choice, depth + 1));
  if (Array.isArray(part.enum) || "const" in part) return true;
  const types = Array.isArray(part.type) ? part.type.filter((type) => type !== "null") : [part.type];
  const type: unknown = types.length === 1 ? types[0] : undefined;
  if (typeof type !== "string" || !simple.has(type)) return false;
  if (type === "array") return Array.isArray(part.items) ? false : canShow(part.items, depth + 1);
  if (type === "object") return Object.values((part.properties ?? {}) as Record<string, unknown>).every((member) => canShow(member, depth + 1));
  return true;
}

function isConst(choice: unknown): boolean {
  return typeof choice === "object" && choice !== null && "const" in choice;
}

/**
 * The schema as the form library draws it best: titles beside an enum (`enumNames`) as titled choices, and choices with the type
 * their values have. Checking always uses the schema as it was given.
 */
export function forDrawing(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forDrawing);
  if (typeof schema !== "object" || schema === null) return schema;
  const part = typed(Object.fromEntries(Object.entries(schema).map(([name, member]) => [name, forDrawing(member)])));
  const { enum: values, enumNames: names, ...other } = part;
  if (!Array.isArray(values) || !Array.isArray(names)) return part;
  return { ...other, oneOf: values.map((value: unknown, index) => ({ const: value, title: typeof names[index] === "string" ? names[index] : String(value) })) };
}

function typed(part: Record<string, unknown>): Record<string, unknown> {
  const choices = Array.isArray(part.enum) ? part.enum : Array.isArray(part.oneOf) && part.oneOf.every(isConst) ? part.oneOf.map((choice: { const: unknown }) => choice.const) : null;
  if (part.type !== undefined || choices === null) return part;
  const types = new Set(choices.map((value) => typeof value));
  const only = types.size === 1 ? [...types][0] : undefined;
  return only === "string" || only === "number" || only === "boolean" ? { ...part, type: only } : part;
}
