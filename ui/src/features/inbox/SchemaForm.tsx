// The form of a `responseSchema`. It draws and reports; what is sent is checked once more where it is sent.

// Not the package's index: that pulls in its test registry and with it a validator that needs eval.
import Form from "@rjsf/core/lib/components/Form.js";
import { getDefaultFormState, type IconButtonProps, type RJSFSchema, type TemplatesType, type UiSchema } from "@rjsf/utils";
import { ArrowDown, ArrowUp, Copy, Plus, X } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Button, IconButton } from "../../components/Button";
import css from "./SchemaForm.module.css";
import { formValidator, forDrawing } from "./validator";

export interface SchemaFormProps {
  schema: Record<string, unknown>;
  /** Undefined: the schema's defaults. */
  value: unknown;
  onChange: (value: unknown) => void;
  /** Keeps ids of two forms on one screen apart. */
  idPrefix: string;
  disabled: boolean;
  /** Show every fault, also of places not touched yet. */
  strict: boolean;
}

export default function SchemaForm({ schema, value, onChange, idPrefix, disabled, strict }: SchemaFormProps) {
  const shown = useMemo(() => forDrawing(schema) as RJSFSchema, [schema]);
  const ui = useMemo(() => ({ ...looks(shown), "ui:submitButtonOptions": { norender: true } }), [shown]);
  const [touched, setTouched] = useState(false);
  return (
    <Form
      className={css.form ?? ""}
      tagName="div"
      schema={shown}
      validator={formValidator}
      formData={value}
      onChange={(event) => {
        setTouched(true);
        onChange(event.formData);
      }}
      idPrefix={idPrefix}
      disabled={disabled}
      noHtml5Validate
      liveValidate={touched || strict ? "onChange" : false}
      showErrorList={false}
      templates={templates}
      uiSchema={ui}
    />
  );
}

/** Choosing several of a few reads better as boxes to tick than as a list to hold Ctrl over. */
function looks(schema: RJSFSchema): UiSchema {
  const items = typeof schema.items === "object" && !Array.isArray(schema.items) ? schema.items : undefined;
  if (items?.enum !== undefined || items?.oneOf !== undefined) return { "ui:widget": "checkboxes" };
  if (items !== undefined) return { items: looks(items) };
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, member]) => [name, typeof member === "object" ? looks(member) : {}]));
}

/** The value a form starts with. */
export function startValue(schema: Record<string, unknown>): unknown {
  return getDefaultFormState(formValidator, schema as RJSFSchema, undefined, schema as RJSFSchema);
}

function icon(label: string, sign: ReactNode) {
  return function IconTemplate({ onClick, disabled, id }: IconButtonProps) {
    return (
      <IconButton id={id} label={label} onClick={onClick} disabled={disabled}>
        {sign}
      </IconButton>
    );
  };
}

const templates: Partial<TemplatesType> = {
  ButtonTemplates: {
    AddButton: ({ onClick, disabled, id }: IconButtonProps) => (
      <Button size="s" id={id} onClick={onClick} disabled={disabled} icon={<Plus aria-hidden="true" />}>
        Add
      </Button>
    ),
    RemoveButton: icon("Remove", <X />),
    MoveUpButton: icon("Move up", <ArrowUp />),
    MoveDownButton: icon("Move down", <ArrowDown />),
    CopyButton: icon("Copy", <Copy />),
    ClearButton: icon("Clear", <X />),
    SubmitButton: () => null,
  },
};
